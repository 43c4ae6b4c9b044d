/** Parsers for the values of options. */

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Effect } from '@meanwhile/core'
import { InvalidArgumentError } from 'commander'
import { EFFECTS } from '../effects.ts'
import type { ToolFacts } from '../replay/tool-facts.ts'

/** Returns a parser of comma-separated names. It returns them in the order of the known ones, each once. */
export function listOf<Name extends string>(known: readonly Name[]): (text: string) => readonly Name[] {
  return (text) => {
    const names = text.split(',').map((name) => name.trim())
    const unknown = names.filter((name) => !known.some((one) => one === name))
    if (unknown.length > 0) {
      throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. Known are ${known.join(', ')}.`)
    }
    return known.filter((name) => names.includes(name))
  }
}

export function oneOf<Name extends string>(known: readonly Name[]): (text: string) => Name {
  return (text) => {
    const found = known.find((name) => name === text)
    if (found === undefined) throw new InvalidArgumentError(`Unknown: ${text}. Known are ${known.join(', ')}.`)
    return found
  }
}

/** A file in an existing folder: checked before the run, not after it. */
export function writable(file: string): string {
  if (!existsSync(dirname(file))) throw new InvalidArgumentError(`The folder ${dirname(file)} does not exist.`)
  return file
}

/** An existing file or folder. */
export function readable(path: string): string {
  if (!existsSync(path)) throw new InvalidArgumentError(`${path} does not exist.`)
  return path
}

/** An option that may be given several times. */
export function collected<Value>(
  read: (text: string) => Value,
): (text: string, before?: readonly Value[]) => readonly Value[] {
  return (text, before = []) => [...before, read(text)]
}

export function url(example: string): (text: string) => string {
  return (text) => {
    if (!/^https?:/.test(text) || !URL.canParse(text)) {
      throw new InvalidArgumentError(`The value must be a URL such as ${example}.`)
    }
    return text
  }
}

export function positive(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('The value must be an integer from 1.')
  return count
}

/** `search=400:read` */
export function toolFacts(text: string): readonly [name: string, ToolFacts] {
  const [, name, ms, effect = 'external'] = /^(.+)=(\d+(?:\.\d+)?)(?::(.*))?$/.exec(text) ?? []
  if (name === undefined || !isEffect(effect)) {
    throw new InvalidArgumentError(
      `The value must be a name, milliseconds and one of ${EFFECTS.join(', ')}: search=400:read.`,
    )
  }
  return [name, { ms: Number(ms), effect }]
}

function isEffect(text: string): text is Effect {
  return EFFECTS.some((effect) => effect === text)
}
