// Dining: find a restaurant, reserve a table, keep or cancel reservations, write reviews.
"use strict";
const PHONE = "+1 555 0100";
function restaurant(id, name, food_type, rating, price_range, area, description, slots) {
  return { id, name, food_type, rating, price_range, area, description, slots };
}

const RESTAURANTS = [
  restaurant("r1", "Luna Trattoria", "Italian", "4.60", "$$", "Old Town", "Hand-made pasta and a small garden.", ["6:00 PM", "7:00 PM", "8:30 PM"]),
  restaurant("r2", "Osteria Verde", "Italian", "4.80", "$$$", "Harbour", "Northern Italian, vegetables first.", ["5:30 PM", "7:00 PM", "9:00 PM"]),
  restaurant("r3", "Pasta Presto", "Italian", "4.10", "$", "Station", "Quick plates at the counter.", ["6:00 PM", "6:30 PM", "7:00 PM"]),
  restaurant("r4", "Sushi Hoshi", "Japanese", "4.70", "$$$", "Harbour", "Counter of twelve seats.", ["6:30 PM", "8:00 PM", "9:00 PM"]),
  restaurant("r5", "Tokyo Corner", "Japanese", "4.20", "$$", "Station", "Ramen, gyoza and sushi.", ["6:00 PM", "7:30 PM", "8:00 PM"]),
  restaurant("r6", "Cantina Azul", "Mexican", "4.50", "$$", "Old Town", "Tacos on the terrace.", ["7:00 PM", "8:00 PM", "9:00 PM"]),
  restaurant("r7", "Le Petit Jardin", "French", "4.90", "$$$$", "Park", "Five courses, one menu.", ["7:00 PM", "9:00 PM"]),
  restaurant("r8", "Smoke & Oak", "Steakhouse", "4.40", "$$$", "Harbour", "Dry-aged beef from the grill.", ["6:00 PM", "8:00 PM"]),
];

function seed() {
  const kept = { id: "b1", restaurant: brief(RESTAURANTS[0]), date: "2024-07-27", time: "7:00 PM", guests: "2 people", tel: PHONE, optionals: { occasion: "", request: "" } };
  return { booking: { bookingDetails: [kept] }, review: { reviews: [] }, savedRestaurants: { savedRestaurants: [] } };
}

function brief({ id, name, rating, food_type, price_range, description }) { return { id, name, rating, food_type, price_range, description }; }

function searching() {
  const wanted = (Core.form.search || "").toLowerCase();
  const found = RESTAURANTS.filter((each) => !wanted || `${each.name} ${each.food_type} ${each.area}`.toLowerCase().includes(wanted));
  return [h("h1", {}, "Find a table"), asking([field("search", "Search restaurants", { hint: "name, cuisine or area" })], "Search", render),
    found.length ? h("div", { class: "rows" }, found.map((each) => h("button", { type: "button", class: "item", onclick: () => go(`/restaurant/${each.id}`) },
      h("span", { class: "who" }, each.name), h("span", {}, `${each.food_type}, rated ${each.rating}, ${each.price_range}, ${each.area}`)))) : h("p", {}, "No restaurant fits.")];
}

function visiting(id, state) {
  const place = RESTAURANTS.find((each) => each.id === id);
  if (!place) return h("p", {}, "There is no such restaurant.");
  const { form } = Core, saved = state.savedRestaurants.savedRestaurants.some((each) => each.id === id);
  return [h("h1", {}, place.name), h("p", { class: "meta" }, `${place.food_type}, rated ${place.rating}, ${place.price_range}, ${place.area}. ${place.description}`),
    h("div", { class: "row" }, field("date", "Date", { hint: "2024-07-20" }), field("guests", "Guests", { hint: "2" })),
    field("request", "Special request", { hint: "optional" }),
    h("p", {}, "Tables are free at"), h("div", { class: "row" }, place.slots.map((time) => button(time, () => { form.time = time; render(); }, form.time === time ? "slot here" : "slot"))),
    form.time && h("p", { class: "meta" }, `A table at ${form.time}`),
    h("div", { class: "row" }, button("Confirm reservation", () => reserve(place), "main"),
      button(saved ? "Forget restaurant" : "Save restaurant", () => act("savedRestaurants/toggle", { id, restaurant: brief(place) }, (s) => {
        const kept = s.savedRestaurants.savedRestaurants;
        s.savedRestaurants.savedRestaurants = saved ? kept.filter((each) => each.id !== id) : [...kept, brief(place)];
      }))),
    h("h2", {}, "Write a review"), h("div", { class: "row" }, field("stars", "Stars", { hint: "1 to 5" }), field("opinion", "Your opinion")),
    button("Post review", () => review(place))];
}

function reserve(place) {
  const { form } = Core, count = Number(form.guests);
  if (!/^\d{4}-\d\d-\d\d$/.test(form.date)) return notify("Write the date like 2024-07-20.");
  if (!Number.isInteger(count) || count < 1 || count > 12) return notify("We seat 1 to 12 guests.");
  if (!form.time) return notify("Choose a time.");
  const booking = { id: serial("booking-"), restaurant: brief(place), date: form.date, time: form.time, guests: count === 1 ? "1 person" : `${count} people`, tel: PHONE, optionals: { occasion: "", request: form.request } };
  act("booking/confirm", booking, (state) => { state.booking.bookingDetails.push(booking); }, "/reservations");
}

function review(place) {
  const { form } = Core, stars = Number(form.stars);
  if (!(stars >= 1 && stars <= 5)) return notify("Give 1 to 5 stars.");
  const written = { id: serial("review-"), restaurant: brief(place), stars, opinion: form.opinion };
  act("review/post", written, (state) => { state.review.reviews.push(written); });
}

function reservations(state) {
  const kept = state.booking.bookingDetails;
  return [h("h1", {}, "Your reservations"), kept.length ? h("div", { class: "cards" }, kept.map((each) => h("div", { class: "card" },
    h("h2", {}, each.restaurant.name), h("p", {}, `${each.date} at ${each.time}, ${each.guests}`),
    button(`Cancel ${each.restaurant.name} on ${each.date}`, () => act("booking/cancel", { id: each.id }, (s) => { s.booking.bookingDetails = s.booking.bookingDetails.filter((one) => one.id !== each.id); }))))) : h("p", {}, "None.")];
}

Core.boot({
  title: "Dining", seed,
  links: () => [["Restaurants", "/"], ["Reservations", "/reservations"]],
  page: (path, state) => {
    if (path === "/reservations") return reservations(state);
    const id = named(path, "/restaurant/");
    return id ? visiting(id, state) : searching();
  },
  differences: (before, after) => ({ differences: {
    bookings: changes(before.booking.bookingDetails, after.booking.bookingDetails),
    reviews: changes(before.review.reviews, after.review.reviews),
    savedRestaurants: changes(before.savedRestaurants.savedRestaurants, after.savedRestaurants.savedRestaurants),
  } }),
});
