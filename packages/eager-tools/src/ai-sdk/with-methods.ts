/** The same object with other methods. It is a proxy, because models may be class instances with private members. */
export function withMethods<Of extends object>(of: Of, methods: Partial<Of>): Of {
  return new Proxy(of, {
    get: (target, key) => {
      if (Object.hasOwn(methods, key)) return Reflect.get(methods, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
