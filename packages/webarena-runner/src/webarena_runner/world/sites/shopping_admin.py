"""The stand-in back office, with the pages of a Magento store below `/admin`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from webarena_runner.world.markup import Markup, document, field, link, listing, tag
from webarena_runner.world.messages import Response, html, not_found, redirect
from webarena_runner.world.router import Router
from webarena_runner.world.site import Credentials, Site
from webarena_runner.world.theme import stylesheet

if TYPE_CHECKING:
    from webarena_runner.world.markup import Node
    from webarena_runner.world.site import Visit

__all__ = ["ShoppingAdmin"]

_CSS = stylesheet(accent="#eb5202", ink="#373330")
_MENU = {
    "Dashboard": "/admin/admin/dashboard/",
    "Orders": "/admin/sales/order/",
    "Invoices": "/admin/sales/invoice/",
    "Customers": "/admin/customer/index/",
    "Reviews": "/admin/review/product/",
    "Bestsellers": "/admin/reports/report_sales/bestsellers/",
}


@dataclass
class Order:
    """An order in the back office."""

    ident: int
    customer: str
    status: str
    total: float


@dataclass
class Review:
    """A customer's review of a product."""

    ident: int
    product: str
    nickname: str
    stars: int
    status: str


@dataclass(frozen=True)
class Sale:
    """How often a product was sold in a year."""

    year: int
    product: str
    quantity: int


class ShoppingAdmin(Site):
    """Dashboard, orders, invoices, customers, reviews and the bestseller report."""

    name = "shopping_admin"
    hostname = "shopping-admin.localhost"
    entry = "/admin"
    account = Credentials("admin", "admin1234")
    login_path = "/admin"
    session_cookie = "admin"
    token_fields = ("form_key",)
    auto_login_header = "X-M2-Admin-Auto-Login"
    routes: ClassVar[Router] = Router()

    def populate(self) -> None:
        """Reset orders, customers and reviews."""
        self.orders = [
            Order(302, "Jane Doe", "Pending", 96.40),
            Order(307, "Alex Martin", "Pending", 84.00),
            Order(299, "Sarah Miller", "Pending", 153.20),
            Order(65, "Grace Nguyen", "Complete", 210.00),
        ]
        self.invoices = {1: 36.39, 2: 39.64}
        self.customers = {
            "Jane Doe": "jane.doe@example.com",
            "Sarah Miller": "helloworld@example.com",
            "Grace Nguyen": "grace@example.com",
        }
        self.reviews = [
            Review(347, "Olivia Light Jacket", "Emma", 2, "Pending"),
            Review(349, "Sybil Running Short", "Vera", 1, "Approved"),
            Review(352, "Circe Fleece", "Hannah Lim", 1, "Pending"),
        ]
        self.sales = [
            # with the sign itself, as task 0 expects it: spelled "(TM)" it scores 0
            Sale(2022, "Quest Lumaflex\u2122 Band", 6),
            Sale(2022, "Sprite Stasis Ball 65 cm", 5),
            Sale(2023, "Sprite Yoga Strap 6 foot", 7),
        ]

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
        notices = [tag("p", each, class_="notice") for each in visit.session.take_notices()]
        form = self.form(
            visit, "/admin",
            field("Username", "login[username]", id="username"),
            field("Password", "login[password]", kind="password", id="login"),
            tag("button", "Sign in", type="submit"),
        )  # fmt: skip
        main = tag("main", tag("h1", "Welcome, please sign in"), *notices, form)
        return html(document("Admin", _CSS, main))

    @routes.post("/admin")
    def log_in_by_form(self, visit: Visit) -> Response:
        """Check the password."""
        sent = visit.form
        if self.log_in(visit, sent.get("login[username]", ""), sent.get("login[password]", "")):
            return redirect(_MENU["Dashboard"])
        visit.session.notices.append("The account sign-in was incorrect.")
        return redirect("/admin")

    @routes.get("/admin/admin/dashboard", "/admin/dashboard")
    def dashboard(self, visit: Visit) -> Response:
        """Show the dashboard."""
        total = sum(each.total for each in self.orders)
        return self._page(visit, "Dashboard", tag("p", f"Lifetime sales: ${total:.2f}"))

    @routes.get("/admin/customer/index")
    def customer_list(self, visit: Visit) -> Response:
        """List the customers."""
        rows: list[tuple[Node, ...]] = list(self.customers.items())
        return self._page(visit, "Customers", listing(("Name", "Email"), rows))

    @routes.get("/admin/sales/order")
    def order_list(self, visit: Visit) -> Response:
        """List the orders."""
        rows: list[tuple[Node, ...]] = [
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
        # task 491 expects that the action is not allowed, and not that there is no such order
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
        rows: list[tuple[Node, ...]] = [
            (f"{number:09}", f"${total:.2f}") for number, total in self.invoices.items()
        ]
        return self._page(visit, "Invoices", listing(("Invoice", "Grand Total"), rows))

    @routes.get("/admin/review/product")
    def review_list(self, visit: Visit) -> Response:
        """List the reviews."""
        rows: list[tuple[Node, ...]] = [
            (each.ident, each.product, each.nickname, f"{each.stars} of 5", each.status)
            for each in self.reviews
        ]
        headings = ("ID", "Product", "Nickname", "Stars", "Status")
        # task 790 expects the same of a review that is there
        note = tag("p", "Reviews cannot be deleted in this store.", class_="muted")
        return self._page(visit, "Reviews", note, listing(headings, rows))

    @routes.get("/admin/reports/report_sales/bestsellers")
    def bestsellers(self, visit: Visit) -> Response:
        """List the best-selling products by year."""
        best = sorted(self.sales, key=lambda each: (-each.year, -each.quantity))
        rows: list[tuple[Node, ...]] = [(s.year, s.product, s.quantity) for s in best]
        headings = ("Interval", "Product", "Order Quantity")
        return self._page(visit, "Bestsellers Report", listing(headings, rows))

    def _order(self, ident: str) -> Order | None:
        return next((each for each in self.orders if str(each.ident) == ident), None)

    def _page(self, visit: Visit, title: str, *body: Node) -> Response:
        if visit.user is None:
            return redirect("/admin")
        notices = [tag("p", each, class_="notice") for each in visit.session.take_notices()]
        main = tag("main", *notices, tag("h1", title), *body)
        return html(document(f"{title} / Admin", _CSS, _header(visit), _menu(), main))


def _header(visit: Visit) -> Markup:
    brand = tag("span", "Back Office", class_="brand")
    return tag("header", brand, tag("span", visit.user))


def _menu() -> Markup:
    return tag("nav", *(link(name, href) for name, href in _MENU.items()), class_="sections")
