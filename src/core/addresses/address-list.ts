/** Addresses of one cluster, comma-separated. A comma that no scheme follows is part of an address: passwords may have one. */
export function addressesOf(text: string): string[] {
  const addresses: string[] = [];
  for (const piece of text.split(",")) {
    const isNext = addresses.length === 0 || /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(piece);
    if (isNext) addresses.push(piece);
    else addresses[addresses.length - 1] += `,${piece}`;
  }
  return addresses.map((address) => address.trim());
}
