/** The colours of the family as values: a picture that a page loads as a file does not see the variables of that page. */

import { readFileSync } from 'node:fs'

export type Scheme = 'light' | 'dark'

export type Colours = Readonly<Record<string, string>>

const sheet = readFileSync(new URL(import.meta.resolve('@meanwhile/devtools/family.css')), 'utf8')

export function coloursOf(scheme: Scheme): Colours {
  const declared = [...sheet.matchAll(/--([\w-]+): light-dark\((#\w+), (#\w+)\)/g)]
  return Object.fromEntries(declared.map(([, name, light, dark]) => [name, scheme === 'light' ? light : dark]))
}
