import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'

const PACKAGES = fileURLToPath(new URL('../../../packages/', import.meta.url))

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly '@meanwhile/source'?: string }>>
}

/** The devtools do not need core, whose base class errors have. */
const WITHOUT_CORE = '@meanwhile/devtools'

/** The entry points of all packages, as files. */
const entries: readonly string[] = globSync('*/package.json', { cwd: PACKAGES }).flatMap((file) => {
  const { name, exports }: Manifest = JSON.parse(readFileSync(join(PACKAGES, file), 'utf8'))
  if (name === WITHOUT_CORE) return []
  return Object.values(exports).flatMap((entry) =>
    typeof entry === 'object' && entry['@meanwhile/source']
      ? [join(PACKAGES, dirname(file), entry['@meanwhile/source'])]
      : [],
  )
})

test('each error class that a package exports recognizes the errors of its other copies, and no other class has its brand (W27)', async () => {
  const classes = new Map<string, unknown>()
  // OpenAI's Agents SDK sets one timer after another from its import on: here on a clock that ends with the test.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    for (const entry of entries) {
      const exported: Readonly<Record<string, unknown>> = await import(/* @vite-ignore */ pathToFileURL(entry).href)
      for (const [name, value] of Object.entries(exported)) {
        // Nothing makes an instance of the base class itself.
        if (typeof value !== 'function' || !(value.prototype instanceof Error) || name === 'BrandedError') continue
        const brand = Reflect.getOwnPropertyDescriptor(value, 'brand')?.value
        // Two packages may have classes of one name.
        expect([entry, name, brand]).toEqual([entry, name, expect.stringMatching(`${name}$`)])
        expect([name, classes.get(brand) ?? value]).toEqual([name, value])
        classes.set(brand, value)
      }
    }
  } finally {
    vi.useRealTimers()
  }
  expect(classes.size).toBeGreaterThan(50)
})
