"""The products and orders of the stand-in shop."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["CATEGORIES", "Order", "Product", "Review", "catalogue", "orders"]

CATEGORIES = {
    "beauty-personal-care": "Beauty & Personal Care",
    "beauty-personal-care/oral-care": "Oral Care",
    "clothing-shoes-jewelry/men/shoes": "Men's Shoes",
    "clothing-shoes-jewelry/women/clothing": "Women's Clothing",
    "clothing-shoes-jewelry/women/shoes": "Women's Shoes",
    "electronics/headphones": "Headphones",
    "home-kitchen/furniture": "Furniture",
    "office-products/office-furniture-lighting/cabinets-racks-shelves": (
        "Cabinets, Racks & Shelves"
    ),
    "video-games": "Video Games",
}
"""URL path of each category (without `.html`) and its name."""


@dataclass(frozen=True)
class Review:
    """A customer's review of a product."""

    title: str
    stars: int


@dataclass(frozen=True)
class Product:
    """A product; `slug` is the path of its page."""

    ident: int
    name: str
    price: float
    category: str
    slug: str
    blurb: str = "Sold and shipped by One Stop Market."
    reviews: tuple[Review, ...] = ()


@dataclass
class Order:
    """A past order of the customer."""

    number: int
    date: str
    status: str
    total: float
    items: list[str] = field(default_factory=list)


def catalogue() -> list[Product]:
    """Return all products."""
    oral = "beauty-personal-care/oral-care"
    furniture = "home-kitchen/furniture"
    shelves = "office-products/office-furniture-lighting/cabinets-racks-shelves"
    games = "video-games"
    tea = "elmwood-inn-fine-teas-orange-vanilla-caffeine-free-fruit-infusion-16-ounce-pouch"
    return [
        Product(40101, "Mint Whitening Toothpaste, 2 Tubes", 7.49, oral, "mint-whitening-toothpaste"),
        Product(40102, "Soft Bamboo Toothbrush Set", 9.99, oral, "soft-bamboo-toothbrush-set"),
        Product(40103, "Linen Fresh Laundry Detergent", 14.25, "beauty-personal-care",
                "linen-fresh-laundry-detergent"),
        Product(40201, "Oak Dining Chair", 84.0, furniture, "oak-dining-chair"),
        Product(40202, "White Computer Desk with Drawer", 129.0, furniture,
                "white-computer-desk-with-drawer"),
        Product(40203, "Steel Filing Cabinet", 99.5, shelves, "steel-filing-cabinet"),
        Product(40301, "Compact USB WiFi Adapter", 15.99, "electronics/headphones",
                "compact-usb-wifi-adapter"),
        Product(40302, "Over-Ear Studio Headphones", 59.0, "electronics/headphones",
                "over-ear-studio-headphones"),
        Product(40401, "Wireless Controller for Xbox", 49.99, games,
                "wireless-controller-for-xbox"),
        Product(40402, "Switch Accessories Travel Case", 18.75, games,
                "switch-accessories-travel-case"),
        Product(40501, "Canvas Slip-On Shoes", 22.5, "clothing-shoes-jewelry/women/shoes",
                "canvas-slip-on-shoes"),
        Product(40502, "Leather Walking Shoes", 64.0, "clothing-shoes-jewelry/men/shoes",
                "leather-walking-shoes"),
        Product(40503, "Cotton Summer Dress", 31.0, "clothing-shoes-jewelry/women/clothing",
                "cotton-summer-dress"),
        Product(104497, "Orange Vanilla Fruit Infusion, 16 Ounce Pouch", 19.36,
                "beauty-personal-care", tea),
        *_drinks_and_candles(),
        *_reviewed_games(),
    ]  # fmt: skip


def _drinks_and_candles() -> list[Product]:
    """Return the products whose price per piece a task compares, in tabs of their own."""
    pink = (
        "tall-pink-taper-candles-4-piece-orange-colored-tapered-candles-gradient-candles-10-6-"
        "inches-tall-tie-dye-candle-set-large-dripless-long-burning-candlesticks-two-color-taper-"
        "candles-candlesticks"
    )
    white = (
        "spaas-white-taper-candles-4-pack-10-inch-tall-candles-scent-free-premium-wax-candle-"
        "sticks-8-hour-long-burning-white-candlesticks-for-home-decoration-wedding-holiday-and-"
        "parties"
    )
    sconces = (
        "white-starfish-wall-candle-sconces-set-of-2-beach-decor-ocean-themed-wall-mount-"
        "candleholders-nautical-style-beach-bathroom-decor-coastal-farmhouse-seashell-candle-"
        "holders"
    )
    juice = (
        "v8-energy-healthy-energy-drink-steady-energy-from-black-and-green-tea-pomegranate-"
        "blueberry-8-ounce-can-pack-of-24"
    )
    home = "home-kitchen/furniture"
    return [
        Product(32201, "Tall Pink Taper Candles, 4 pieces", 19.2, home, pink),
        Product(32202, "White Taper Candles, 4 pieces", 8.4, home, white),
        Product(32203, "Starfish Candle Sconces, 2 pieces", 38.0, home, sconces),
        Product(104499, "Ciclon Energy Drink, 24 cans", 48.0, "beauty-personal-care",
                "ciclon-energy-drink-regular-24-cans-8-3oz"),
        Product(104498, "Energy Drink Pomegranate Blueberry, 24 cans", 14.47,
                "beauty-personal-care", juice),
    ]  # fmt: skip


def _reviewed_games() -> list[Product]:
    games = "video-games"
    return [
        Product(60101, "Sony Computer Entertainment VR", 499.0, games, "sony-vr", reviews=(
            Review("Great immersion", 5),
            Review("Disappointing. Didn't last long before it stopped powering on and needed to "
                   "be sent in for repair.", 1),
            Review("didn't last a year without issues", 2),
            Review("Received used items!!", 2),
            Review("Received used items!!", 2),
        )),
        Product(60102, "HORI 3D Surround Gaming Neckset", 129.99, games, "hori-neckset", reviews=(
            Review("Not worth it for PC users", 2),
            Review("Comfortable", 4),
            Review("I really wanted to like this.", 2),
            Review("I wish this was better...", 2),
            Review("I wish this was better...", 2),
        )),
    ]  # fmt: skip


def orders() -> list[Order]:
    """Return the customer's past orders, newest first."""
    return [
        Order(189, "5/2/23", "Pending", 754.99, ["White Computer Desk with Drawer"]),
        Order(180, "3/11/23", "Complete", 65.32, ["Over-Ear Studio Headphones"]),
        Order(170, "2/24/23", "Canceled", 365.42, ["Oak Dining Chair"]),
    ]
