/** A proxy of an object with some members replaced. Writes, and all other methods, go to the object itself. */
export function over<Target extends object>(target: Target, members: Partial<Target>): Target {
  return new Proxy(target, {
    get(of, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key)
      const value: unknown = Reflect.get(of, key)
      // A method of a class may need private members of its own object.
      return typeof value === 'function' && key !== 'constructor' && !Object.hasOwn(of, key) ? value.bind(of) : value
    },
    set: (of, key, value) => Reflect.set(of, key, value),
  })
}
