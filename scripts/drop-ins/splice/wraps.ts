/** What the replacements of all libraries have in common. */

import { appendFileSync } from 'node:fs'

export interface SpliceSettings {
  /** Whether models speak at a pace. */
  readonly paced: boolean
  /** Gets one byte for each call that started early. */
  readonly earlyFile: string
  /** Gets one line for each warning. */
  readonly warningsFile: string
}

/** As far as all drop-ins have it. */
export type Eager = <Wrapped extends object>(
  wrapped: Wrapped,
  effects: Readonly<Record<string, 'read'>>,
  settings: EagerSettings,
) => Wrapped

export interface EagerSettings {
  readonly seals?: boolean
  readonly alwaysStream?: boolean
  readonly onStep: (savings: StepSavings) => void
  readonly onWarning: (warning: { readonly message: string }) => void
}

interface StepSavings {
  readonly calls: readonly { readonly evidence?: unknown }[]
}

/** Every tool is a read. */
export function reads(names: readonly string[]): Readonly<Record<string, 'read'>> {
  return Object.fromEntries(names.map((name) => [name, 'read']))
}

/** Notes what is told. Warnings are not printed: there are tests that fail when anything is. */
export function listeners({ earlyFile, warningsFile }: SpliceSettings): Pick<EagerSettings, 'onStep' | 'onWarning'> {
  return {
    onStep: ({ calls }) =>
      appendFileSync(earlyFile, '.'.repeat(calls.filter(({ evidence }) => evidence !== undefined).length)),
    onWarning: ({ message }) => appendFileSync(warningsFile, `${message.replaceAll('\n', ' ')}\n`),
  }
}

// Kept from before any test puts a clock of its own in their place.
const { setTimeout } = globalThis

/** So long that other work gets its turn. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2))
}

/** The same object with one method replaced; all else is its own. */
export function withMethod<Target extends object>(
  target: Target,
  name: string,
  replaced: (method: (...args: readonly unknown[]) => unknown) => (...args: readonly unknown[]) => unknown,
): Target {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key)
      if (key !== name || typeof value !== 'function') return value
      return replaced((...args) => Reflect.apply(value, object, args))
    },
  })
}
