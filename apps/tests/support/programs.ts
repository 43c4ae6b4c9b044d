/** Programs that tests start in processes of their own. */

import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import type {} from './programs-setup.ts'

/** The built file of a program that the configuration lists under `sources`. */
export function programAt(source: URL): string {
  const path = fileURLToPath(source)
  const program = inject('programs')[path]
  if (program === undefined) throw new Error(`${path} is not among the \`sources\` of this configuration`)
  return program
}
