/** The shared parts of the replacements of all libraries. */

import { appendFileSync } from 'node:fs'

export interface SpliceSettings {
  /** Whether models stream at a pace. */
  readonly paced: boolean
  /** The file that gets one byte for each use of the drop-in: a call that started early, a model that was wrapped. */
  readonly usesFile: string
  /** The file that gets one line for each warning. */
  readonly warningsFile: string
}

/** What is added to the functions of a library; nothing if its tests run unchanged. */
export interface Added {
  readonly eager?: Eager
  readonly resilient?: Resilient
}

export type Resilient = (models: readonly unknown[]) => unknown

/** The part of `eager` that all drop-ins have. */
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

/** Declares every tool as a read. */
export function reads(names: readonly string[]): Readonly<Record<string, 'read'>> {
  return Object.fromEntries(names.map((name) => [name, 'read']))
}

/** Records early calls and warnings. Warnings are not printed: some tests fail if anything is printed. */
export function listeners({ usesFile, warningsFile }: SpliceSettings): Pick<EagerSettings, 'onStep' | 'onWarning'> {
  return {
    onStep: ({ calls }) =>
      appendFileSync(usesFile, '.'.repeat(calls.filter(({ evidence }) => evidence !== undefined).length)),
    onWarning: ({ message }) => appendFileSync(warningsFile, `${message.replaceAll('\n', ' ')}\n`),
  }
}

// Kept from before a test replaces the timers.
const { setTimeout } = globalThis

/** Long enough for other work to get its turn. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2))
}

/** The same object with one method replaced; all other members are its own. */
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
