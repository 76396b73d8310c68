if (ORIGINS.includes(location.origin)) {
  for (const [name, value] of Object.entries(ENTRIES))
    if (localStorage.getItem(name) === null) localStorage.setItem(name, value);
}
