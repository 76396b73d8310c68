"""Logins to the sites, over plain HTTP or in the browser, and the files of their cookies."""
