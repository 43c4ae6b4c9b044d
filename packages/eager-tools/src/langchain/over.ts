/** The same object, except for some members. What is written to it goes to the object itself, and so do its own methods. */
export function over<Target extends object>(target: Target, members: Partial<Target>): Target {
  return new Proxy(target, {
    get(of, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key)
      const value: unknown = Reflect.get(of, key)
      // A method of a class may need what is private there.
      return typeof value === 'function' && key !== 'constructor' && !Object.hasOwn(of, key) ? value.bind(of) : value
    },
    set: (of, key, value) => Reflect.set(of, key, value),
  })
}
