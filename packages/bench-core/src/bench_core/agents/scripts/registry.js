() => ({
  // Makes a document's registry. Only we hold it: nothing is put on the page itself.
  first: 1, next: 1, nodes: new Map(), numbers: new WeakMap(),
  // what a script gave away is taken back if its result, and so the numbers in it, never arrived
  begin(first, kept) {
    for (let number = Math.max(this.first, kept); number < this.next; number++) {
      const held = this.nodes.get(number);
      const node = held && held.deref();
      if (node) this.numbers.delete(node);
      this.nodes.delete(number);
    }
    this.first = this.next = first;
  },
  number(node) {
    let number = this.numbers.get(node);
    if (!number) {
      number = this.next++;
      this.numbers.set(node, number);
      this.nodes.set(number, new WeakRef(node));
    }
    return number;
  },
  node(number) {
    const held = this.nodes.get(number);
    const node = held && held.deref();
    return node && node.isConnected ? node : null;
  },
})
