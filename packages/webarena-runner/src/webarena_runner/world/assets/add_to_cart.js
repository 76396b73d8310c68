// The cart is filled without leaving the page, as Magento does it.
const buy = document.getElementById('product_addtocart_form');
buy.addEventListener('submit', async (event) => {
  event.preventDefault();
  const answer = await fetch(buy.action, {method: 'POST', body: new FormData(buy)});
  document.getElementById('cart-message').textContent = answer.ok ? ' Added to your cart.' : '';
});
