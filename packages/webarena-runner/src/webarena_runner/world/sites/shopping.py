"""The stand-in shop, with the pages of a Magento store for a customer."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from webarena_runner.world.files import asset, initial
from webarena_runner.world.markup import Markup, Node, field, hidden, link, listing, tag
from webarena_runner.world.messages import Response, json_response, not_found, redirect
from webarena_runner.world.router import Router
from webarena_runner.world.site import SiteAccount, StandInSite, Visit

_REFUSAL = "The account sign-in was incorrect."
_NAME, _EMAIL = "Emma Lopez", "emma.lopez@gmail.com"


@dataclass(frozen=True)
class Product:
    """A product; `slug` is the path of its page, its reviews are rating and title."""

    ident: int
    name: str
    price: float
    category: str
    slug: str
    reviews: tuple[tuple[str, str], ...] = ()


@dataclass
class Order:
    """A past order of the customer."""

    number: int
    date: str
    status: str
    total: float
    items: tuple[str, ...]


class Shopping(StandInSite):
    """Catalogue, search, cart, wish list, newsletter, orders and the contact form.

    Attributes:
        reports_unsent_forms: Whether the contact form has the script that current images lack.
    """

    name = "shopping"
    hostname = "shopping.localhost"
    colours = ("#1979c3", "#20303f")
    account = SiteAccount(_EMAIL, "Password.123")
    login_path = "/customer/account/login/"
    session_cookie = "PHPSESSID"
    token_fields = ("form_key",)
    auto_login_header = "X-M2-Customer-Auto-Login"
    routes: ClassVar[Router] = Router()

    reports_unsent_forms = True

    def populate(self) -> None:
        """Reset the products and empty the wish list."""
        self.categories = initial("shopping", "categories", dict[str, str])
        self.products = initial("shopping", "products", list[Product])
        self.orders = initial("shopping", "orders", list[Order])
        self.wishes: list[Product] = []
        self.cart: list[tuple[Product, int]] = []
        self.subscribers: set[str] = set()

    @routes.get("/")
    def front(self, visit: Visit) -> Response:
        """Show a few products."""
        return self._page(visit, "One Stop Market", _shelf(self.products[:8]))

    # Task 274 is scored by the last navigation here, with `q` as its only parameter.
    @routes.get("/catalogsearch/result", "/catalogsearch/result/index")
    def search(self, visit: Visit) -> Response:
        """Show products with a word of the query in their name."""
        wanted = visit.query.get("q", "")
        words = wanted.lower().split()
        found = [each for each in self.products if any(w in each.name.lower() for w in words)]
        heading = f"Search results for: '{wanted}'"
        return self._page(visit, heading, _shelf(_in_order(found, visit)))

    @routes.get("/customer/account/login")
    def login_form(self, visit: Visit) -> Response:
        """Ask for e-mail and password."""
        form = self.form(
            visit, "/customer/account/loginPost/",
            field("Email", "login[username]", kind="email", id="email"),
            field("Password", "login[password]", kind="password", id="pass"),
            tag("button", "Sign In", type="submit"),
            id="login-form",
        )  # fmt: skip
        return self._page(visit, "Customer Login", form)

    @routes.post("/customer/account/loginPost")
    def log_in_by_form(self, visit: Visit) -> Response:
        """Check the password."""
        names, home = ("login[username]", "login[password]"), "/customer/account/"
        return self.log_in(visit, *names, home=home, refusal=_REFUSAL)

    @routes.get("/customer/account")
    def account_page(self, visit: Visit) -> Response:
        """Show who is logged in and the way to the orders."""
        if visit.user is None:
            return redirect(self.login_path)
        details = tag("div", tag("p", f"{_NAME}, {visit.user}"), class_="card box-information")
        ways = tag("p", link("My Orders", "/sales/order/history/"), " · ",
                   link("My Wish List", "/wishlist/"))  # fmt: skip
        return self._page(visit, "My Account", details, ways)

    @routes.get("/sales/order/history")
    def order_history(self, visit: Visit) -> Response:
        """List past orders."""
        if visit.user is None:
            return redirect(self.login_path)
        rows = [
            (f"{each.number:09}", each.date, f"${each.total:.2f}", each.status,
             link("View Order", f"/sales/order/view/order_id/{each.number}/"))
            for each in self.orders
        ]  # fmt: skip
        return self._page(
            visit, "My Orders", listing(("Order", "Date", "Total", "Status", ""), rows)
        )

    @routes.get("/sales/order/view/order_id/{number}")
    def order_page(self, visit: Visit, number: str) -> Response:
        """Show one order."""
        order = next((each for each in self.orders if str(each.number) == number), None)
        if visit.user is None or order is None:
            return redirect(self.login_path) if visit.user is None else not_found()
        body = tag("p", f"{order.status}, {order.date}, grand total ${order.total:.2f}")
        items = tag("ul", *(tag("li", each) for each in order.items))
        return self._page(visit, f"Order # {order.number:09}", body, items)

    @routes.get("/wishlist", "/wishlist/index/index/wishlist_id/{ident}")
    def wish_list(self, visit: Visit, ident: str = "") -> Response:
        """Show the wish list."""
        del ident
        if visit.user is None:
            return redirect(self.login_path)
        empty = tag("p", "You have no items in your wish list.")
        return self._page(visit, "My Wish List", _shelf(self.wishes) if self.wishes else empty)

    # Task 512 checks this redirect's cookie, in which Magento passes the notice to the next page.
    @routes.post("/wishlist/index/add")
    def add_wish(self, visit: Visit) -> Response:
        """Put a product on the wish list and confirm it in a cookie, as Magento does."""
        product = self._product(visit.form.get("product", ""))
        if visit.user is None or product is None:
            return redirect(self.login_path)
        self.wishes.append(product)
        text = (
            f"{product.name} has been added to your Wish List. "
            'Click <a href="/">here</a> to continue shopping.'
        )
        visit.session.notices.append(f"{product.name} has been added to your Wish List.")
        notice = quote(json.dumps([{"type": "success", "text": text}]), safe="")
        answer = redirect("/wishlist/index/index/wishlist_id/1/")
        # Magento's own scripts read it, so that it is not HttpOnly
        return answer.with_cookie("mage-messages", notice, http_only=False)

    @routes.post("/checkout/cart/add/uenc/{back}/product/{ident}")
    def add_to_cart(self, visit: Visit, back: str, ident: str) -> Response:
        """Put a product into the cart."""
        del back
        product = self._product(ident)
        if product is None:
            return not_found()
        self.cart.append((product, int(visit.form.get("qty") or 1)))
        return json_response([])

    @routes.get("/checkout/cart")
    def cart_page(self, visit: Visit) -> Response:
        """Show the cart."""
        rows = [
            (product.name, f"${product.price:.2f}", quantity) for product, quantity in self.cart
        ]
        empty = tag("p", "You have no items in your shopping cart.")
        table = listing(("Item", "Price", "Qty"), rows) if rows else empty
        return self._page(visit, "Shopping Cart", table)

    @routes.post("/newsletter/subscriber/new")
    def subscribe(self, visit: Visit) -> Response:
        """Subscribe an address to the newsletter."""
        self.subscribers.add(visit.form.get("email", ""))
        visit.session.notices.append("Thank you for your subscription.")
        return redirect("/")

    @routes.get("/contact")
    def contact_form(self, visit: Visit) -> Response:
        """Show the contact form."""
        known = visit.user is not None
        form = self.form(
            visit, "/contact/index/post/",
            field("Name", "name", _NAME if known else ""),
            field("Email", "email", _EMAIL if known else "", kind="email"),
            field("Phone Number", "telephone", kind="tel"),
            field("What's on your mind?", "comment", kind="textarea"),
            tag("button", "Submit", type="submit"),
            id="contact-form",
        )  # fmt: skip
        script = asset("contact_probe.js") if self.reports_unsent_forms else ""
        return self._page(visit, "Contact Us", form, script=script)

    @routes.post("/contact/index/post")
    def contact(self, visit: Visit) -> Response:
        """Accept the message."""
        visit.session.notices.append("Thanks for contacting us with your comments and questions.")
        return redirect("/contact/")

    @routes.get("/{path:path}.html")
    def category_or_product(self, visit: Visit, path: str) -> Response:
        """Show a category or a product; both have paths at the top level."""
        product = next((each for each in self.products if each.slug == path), None)
        if product is not None:
            table = listing(("Rating", "Review"), product.reviews)
            reviews = tag("section", tag("h2", "Reviews"), table) if product.reviews else None
            card, script = self._product_card(visit, product), asset("add_to_cart.js")
            return self._page(visit, product.name, card, reviews, script=script)
        if path not in self.categories:
            return not_found()
        shelf = [each for each in self.products if each.category.startswith(path)]
        return self._page(visit, self.categories[path], _shelf(_in_order(shelf, visit)))

    def _product(self, ident: str) -> Product | None:
        return next((each for each in self.products if str(each.ident) == ident), None)

    def _product_card(self, visit: Visit, product: Product) -> Markup:
        wish = self.form(
            visit, "/wishlist/index/add/",
            hidden("product", str(product.ident)),
            tag("button", "Add to Wish List", type="submit"),
        )  # fmt: skip
        where = b64encode(visit.request.target.encode()).decode().rstrip("=")
        cart = self.form(
            visit, f"/checkout/cart/add/uenc/{where}/product/{product.ident}/",
            hidden("product", str(product.ident)),
            hidden("item", str(product.ident)),
            field("Qty", "qty", "1", kind="number"),
            tag("button", "Add to Cart", type="submit"),
            tag("span", id="cart-message", class_="muted"),
            id="product_addtocart_form",
        )  # fmt: skip
        price = tag("p", f"${product.price:.2f}", class_="price")
        return tag(
            "div",
            price,
            tag("p", "Sold and shipped by One Stop Market."),
            cart,
            wish,
            class_="card",
        )

    def _page(self, visit: Visit, title: str, *body: Node, script: str = "") -> Response:
        links = [link(name, f"/{path}.html") for path, name in self.categories.items()]
        sections = tag("nav", *links, class_="sections")
        return self.page(
            visit, title, *body, header=[_header(visit), sections], footer=self._footer(visit),
            script=script,
        )  # fmt: skip

    def _footer(self, visit: Visit) -> Markup:
        newsletter = self.form(
            visit, "/newsletter/subscriber/new/",
            tag("input", type="email", name="email", placeholder="Enter your email address",
                required=True),
            tag("button", "Subscribe", type="submit"),
            class_="row",
        )  # fmt: skip
        return tag("footer", newsletter, tag("p", link("Contact Us", "/contact/")))


def _header(visit: Visit) -> Markup:
    search = tag(
        "form",
        tag("input", type="text", name="q", placeholder="Search entire store here..."),
        tag("button", "Search", type="submit", title="Search"),
        action="/catalogsearch/result/",
        method="get",
    )
    who = (
        link("My Account", "/customer/account/")
        if visit.user
        else link("Sign In", "/customer/account/login/")
    )
    brand = tag("a", "One Stop Market", href="/", class_="brand")
    return tag(
        "header",
        brand,
        search,
        link("My Cart", "/checkout/cart/"),
        link("My Wish List", "/wishlist/"),
        who,
    )


def _shelf(products: Sequence[Product]) -> Markup:
    cards = [
        tag("div", link(each.name, f"/{each.slug}.html"),
            tag("p", f"${each.price:.2f}", class_="price"), class_="card")
        for each in products
    ]  # fmt: skip
    return tag("div", *cards, class_="grid") if cards else tag("p", "Nothing was found.")


def _in_order(products: Sequence[Product], visit: Visit) -> list[Product]:
    low, _, high = visit.query.get("price", "").partition("-")
    kept = [each for each in products if float(low or 0) <= each.price <= float(high or "inf")]
    if visit.query.get("product_list_order") == "price":
        kept.sort(
            key=lambda each: each.price, reverse=visit.query.get("product_list_dir") == "desc"
        )
    return kept
