// Travel: flights and stays, searched and booked.
"use strict";
function flight(number, from, to, date, departs, arrives, stops, price) { return { id: number, number, from, to, date, departs, arrives, stops, price }; }
function stay(id, title, city, price, rating, features) { return { id, title, city, price, rating, features }; }

const FLIGHTS = [
  flight("BI204", "DEN", "ORD", "2024-08-05", "08:10", "11:35", 0, 189), flight("BI206", "DEN", "ORD", "2024-08-05", "12:40", "16:05", 0, 164),
  flight("BI208", "DEN", "ORD", "2024-08-05", "15:00", "20:45", 1, 121), flight("BI310", "DEN", "SEA", "2024-08-12", "07:05", "09:00", 0, 210),
  flight("BI312", "DEN", "SEA", "2024-08-12", "10:30", "12:25", 0, 158), flight("BI314", "DEN", "SEA", "2024-08-12", "18:20", "20:15", 0, 176),
  flight("BI311", "SEA", "DEN", "2024-08-14", "13:15", "16:50", 0, 171), flight("BI402", "DEN", "PDX", "2024-09-10", "09:00", "10:50", 0, 149),
  flight("BI404", "DEN", "PDX", "2024-09-10", "17:30", "19:20", 0, 132), flight("BI520", "DEN", "BOS", "2024-08-20", "11:00", "16:55", 0, 243),
];
const STAYS = [
  stay("s1", "Rose Quarter Loft", "Portland", 142, "4.7", ["kitchen", "workspace"]), stay("s2", "Riverside Room", "Portland", 88, "4.3", ["breakfast"]),
  stay("s3", "Alder Street Studio", "Portland", 119, "4.8", ["kitchen", "self check-in"]), stay("s4", "Back Bay Flat", "Boston", 210, "4.6", ["kitchen"]),
  stay("s5", "Fenway Guest House", "Boston", 135, "4.4", ["breakfast"]), stay("s6", "Harbor View Suite", "Boston", 320, "4.9", ["pool"]),
  stay("s7", "Pike Place Nook", "Seattle", 165, "4.7", ["workspace"]), stay("s8", "Lake Shore Rooms", "Chicago", 128, "4.2", ["breakfast", "pets"]),
];

function seed() { return { booking: { bookedFlights: [], bookingDetails: [] }, wishlist: { stays: [] } }; }

function flights() {
  const { form } = Core, asked = ["from", "to", "date"].map((name) => (form[name] || "").trim().toUpperCase());
  const found = form.searched ? FLIGHTS.filter((each) => [each.from, each.to, each.date].every((value, index) => !asked[index] || value === asked[index])) : [];
  return [h("h1", {}, "Flights"), asking([field("from", "From", { hint: "DEN" }), field("to", "To", { hint: "ORD" }), field("date", "Date", { hint: "2024-08-05" })],
    "Search flights", () => { form.searched = true; dispatch("flightSearch/search", { from: form.from, to: form.to, date: form.date }); render(); }, "main"),
    form.searched && h("div", { class: "rows" }, found.length ? found.map((each) => h("button", { type: "button", class: "item", onclick: () => go(`/flight/${each.id}`) },
      h("span", { class: "who" }, `${each.number}  $${each.price}`), h("span", {}, describe(each)))) : h("p", {}, "No flight fits."))];
}

function describe(each) { return `${each.from} to ${each.to}, ${each.date}, ${each.departs} to ${each.arrives}, ${each.stops ? `${each.stops} stop` : "non-stop"}`; }

function onFlight(id) {
  const found = FLIGHTS.find((each) => each.id === id);
  if (!found) return h("p", {}, "There is no such flight.");
  return [h("h1", {}, `Flight ${found.number}`), h("p", { class: "meta" }, `${describe(found)}, $${found.price}`), field("passenger", "Passenger", { hint: "first and last name" }),
    h("div", { class: "row" }, button("Book flight", () => {
      if (!Core.form.passenger.trim()) return notify("Who is flying?");
      const booked = { id: serial("F"), passenger: Core.form.passenger.trim(), flight: found, totalPrice: found.price };
      booked.confirmation = booked.id;
      act("booking/bookFlight", booked, (state) => { state.booking.bookedFlights.push(booked); }, "/trips");
    }, "main"), button("Back to flights", () => go("/")))];
}

function stays() {
  const { form } = Core, wanted = (form.city || "").trim().toLowerCase();
  const found = form.searched ? STAYS.filter((each) => !wanted || each.city.toLowerCase() === wanted) : [];
  return [h("h1", {}, "Stays"), asking([field("city", "City", { hint: "Portland" })],
    "Search stays", () => { form.searched = true; dispatch("search/stays", { city: form.city }); render(); }, "main"),
    form.searched && h("div", { class: "rows" }, found.length ? found.map((each) => h("button", { type: "button", class: "item", onclick: () => go(`/stay/${each.id}`) },
      h("span", { class: "who" }, `${each.title}  $${each.price}`), h("span", {}, `${each.city}, rated ${each.rating}, ${each.features.join(", ")}`))) : h("p", {}, "No stay fits."))];
}

function onStay(id, state) {
  const found = STAYS.find((each) => each.id === id);
  if (!found) return h("p", {}, "There is no such stay.");
  return [h("h1", {}, found.title), h("p", { class: "meta" }, `${found.city}, rated ${found.rating}, ${found.features.join(", ")}, $${found.price} a night`),
    h("div", { class: "row" }, field("checkin", "Check-in", { hint: "2024-09-10" }), field("checkout", "Check-out", { hint: "2024-09-12" }), field("guests", "Guests", { hint: "1" })),
    h("div", { class: "row" }, button("Reserve", () => reserve(found), "main"),
      button("Add to wishlist", () => act("wishlist/add", { id, title: found.title }, (s) => { s.wishlist.stays.push({ id, title: found.title }); })), button("Back to stays", () => go("/stays")))];
}

function reserve(found) {
  const { form } = Core, nights = (new Date(form.checkout) - new Date(form.checkin)) / 86400000;
  if (![form.checkin, form.checkout].every((each) => /^\d{4}-\d\d-\d\d$/.test(each)) || !(nights >= 1)) return notify("Write dates like 2024-09-10; check-out is after check-in.");
  const booked = { id: serial("S"), stay: found, checkin: form.checkin, checkout: form.checkout, guests: Number(form.guests) || 1, total: nights * found.price };
  booked.reservationId = booked.id;
  act("booking/reserveStay", booked, (state) => { state.booking.bookingDetails.push(booked); }, "/trips");
}

function trips(state) {
  const { bookedFlights, bookingDetails } = state.booking;
  return [h("h1", {}, "Your trips"), h("div", { class: "cards" }, bookedFlights.map((each) => h("div", { class: "card" }, h("h2", {}, `Flight ${each.flight.number}`), h("p", {}, describe(each.flight)),
    h("p", {}, `${each.passenger}, confirmation ${each.confirmation}, $${each.totalPrice}`))), bookingDetails.map((each) => h("div", { class: "card" }, h("h2", {}, each.stay.title),
    h("p", {}, `${each.stay.city}, ${each.checkin} to ${each.checkout}`), h("p", {}, `Reservation ${each.reservationId}, $${each.total}`)))), !bookedFlights.length && !bookingDetails.length && h("p", {}, "None yet.")];
}

Core.boot({
  title: "Travel", seed,
  links: () => [["Flights", "/"], ["Stays", "/stays"], ["Trips", "/trips"]],
  page: (path, state) => {
    if (path === "/stays") return stays();
    if (path === "/trips") return trips(state);
    const on = named(path, "/flight/"), at = named(path, "/stay/");
    return on ? onFlight(on) : at ? onStay(at, state) : flights();
  },
  differences: (before, after) => ({
    differences: { bookedFlights: changes(before.booking.bookedFlights, after.booking.bookedFlights, "index"), wishlist: changes(before.wishlist.stays, after.wishlist.stays) },
    bookingDetailsDiff: changes(before.booking.bookingDetails, after.booking.bookingDetails),
  }),
});
