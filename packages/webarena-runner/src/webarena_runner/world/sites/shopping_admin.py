"""The stand-in back office, with the pages of a Magento store below `/admin`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from webarena_runner.world.files import initial
from webarena_runner.world.markup import Node, field, link, listing, tag
from webarena_runner.world.messages import Response, not_found, redirect
from webarena_runner.world.router import Router
from webarena_runner.world.site import SiteAccount, StandInSite, Visit

_MENU = {
    "Dashboard": "/admin/admin/dashboard/",
    "Orders": "/admin/sales/order/",
    "Invoices": "/admin/sales/invoice/",
    "Customers": "/admin/customer/index/",
    "Reviews": "/admin/review/product/",
    "Bestsellers": "/admin/reports/report_sales/bestsellers/",
}


@dataclass
class AdminOrder:
    """An order in the back office."""

    ident: int
    customer: str
    status: str
    total: float


class ShoppingAdmin(StandInSite):
    """Dashboard, orders, invoices, customers, reviews and the bestseller report."""

    name = "shopping_admin"
    hostname = "shopping-admin.localhost"
    entry = "/admin"
    colours = ("#eb5202", "#373330")
    account = SiteAccount("admin", "admin1234")
    login_path = "/admin"
    session_cookie = "admin"
    token_fields = ("form_key",)
    auto_login_header = "X-M2-Admin-Auto-Login"
    routes: ClassVar[Router] = Router()

    def populate(self) -> None:
        """Reset orders, customers and reviews."""
        self.orders = initial(self.name, "orders", list[AdminOrder])
        self.invoices = initial(self.name, "invoices", list[tuple[str, str]])
        self.customers = initial(self.name, "customers", dict[str, str])
        self.reviews = initial(self.name, "reviews", list[tuple[int, str, str, str, str]])
        # with the sign itself, as task 0 expects it: spelled "(TM)" it scores 0
        self.sales = initial(self.name, "sales", list[tuple[int, str, int]])

    @routes.get("/")
    def top(self, visit: Visit) -> Response:
        """Redirect visitors of the host to the back office."""
        del visit
        return redirect("/admin")

    @routes.get("/admin")
    def entrance(self, visit: Visit) -> Response:
        """Ask for user and password, or go to the dashboard."""
        if visit.user:
            return redirect(_MENU["Dashboard"])
        form = self.form(
            visit, "/admin",
            field("Username", "login[username]", id="username"),
            field("Password", "login[password]", kind="password", id="login"),
            tag("button", "Sign in", type="submit"),
        )  # fmt: skip
        return self.page(visit, "Welcome, please sign in", form, window="Admin")

    @routes.post("/admin")
    def log_in_by_form(self, visit: Visit) -> Response:
        """Check the password."""
        refusal, home = "The account sign-in was incorrect.", _MENU["Dashboard"]
        names = ("login[username]", "login[password]")
        return self.log_in(visit, *names, home=home, refusal=refusal)

    @routes.get("/admin/admin/dashboard", "/admin/dashboard")
    def dashboard(self, visit: Visit) -> Response:
        """Show the dashboard."""
        total = sum(each.total for each in self.orders)
        return self._page(visit, "Dashboard", tag("p", f"Lifetime sales: ${total:.2f}"))

    @routes.get("/admin/customer/index")
    def customer_list(self, visit: Visit) -> Response:
        """List the customers."""
        table = listing(("Name", "Email"), self.customers.items())
        return self._page(visit, "Customers", table)

    @routes.get("/admin/sales/order")
    def order_list(self, visit: Visit) -> Response:
        """List the orders."""
        rows = [
            (f"{each.ident:09}", each.customer, each.status, f"${each.total:.2f}",
             link("View", f"/admin/sales/order/view/order_id/{each.ident}/",
                  aria_label=f"View order {each.ident}"))
            for each in self.orders
        ]  # fmt: skip
        return self._page(visit, "Orders", listing(("ID", "Customer", "Status", "Total", ""), rows))

    @routes.get("/admin/sales/order/view/order_id/{ident}")
    def order_page(self, visit: Visit, ident: str) -> Response:
        """Show one order, with a button to cancel it while it is pending."""
        order = self._order(ident)
        if order is None:
            return not_found()
        cancel = self.form(
            visit, f"/admin/sales/order/cancel/order_id/{order.ident}/",
            tag("button", "Cancel", type="submit", id="order-view-cancel-button"),
        )  # fmt: skip
        facts = tag("p", f"{order.customer}, {order.status}, ${order.total:.2f}")
        button = cancel if order.status == "Pending" else None
        # task 491 expects that the action is not allowed, and not that the order does not exist
        note = tag("p", "This store sends no messages to customers.", class_="muted")
        return self._page(visit, f"#{order.ident:09}", facts, button, note)

    @routes.post("/admin/sales/order/cancel/order_id/{ident}")
    def cancel_order(self, visit: Visit, ident: str) -> Response:
        """Cancel a pending order."""
        order = self._order(ident)
        if order is None or visit.user is None:
            return not_found()
        if order.status == "Pending":
            order.status = "Canceled"
            visit.session.notices.append("You canceled the order.")
        return redirect(f"/admin/sales/order/view/order_id/{order.ident}/")

    @routes.get("/admin/sales/invoice")
    def invoice_list(self, visit: Visit) -> Response:
        """List the invoices."""
        table = listing(("Invoice", "Grand Total"), self.invoices)
        return self._page(visit, "Invoices", table)

    @routes.get("/admin/review/product")
    def review_list(self, visit: Visit) -> Response:
        """List the reviews."""
        headings = ("ID", "Product", "Nickname", "Stars", "Status")
        # task 790 expects the same of a review that is there
        note = tag("p", "Reviews cannot be deleted in this store.", class_="muted")
        return self._page(visit, "Reviews", note, listing(headings, self.reviews))

    @routes.get("/admin/reports/report_sales/bestsellers")
    def bestsellers(self, visit: Visit) -> Response:
        """List the best-selling products by year."""
        headings = ("Interval", "Product", "Order Quantity")
        return self._page(visit, "Bestsellers Report", listing(headings, self.sales))

    def _order(self, ident: str) -> AdminOrder | None:
        return next((each for each in self.orders if str(each.ident) == ident), None)

    def _page(self, visit: Visit, title: str, *body: Node) -> Response:
        if visit.user is None:
            return redirect("/admin")
        brand = tag("span", "Back Office", class_="brand")
        menu = tag("nav", *(link(*each) for each in _MENU.items()), class_="sections")
        header = tag("header", brand, tag("span", visit.user)), menu
        return self.page(visit, title, *body, header=header, window=f"{title} / Admin")
