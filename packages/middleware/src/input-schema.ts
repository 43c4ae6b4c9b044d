/**
 * Builds the input schema of a built-in tool: an object with a few plain members, as a Standard Schema with its JSON
 * Schema, so that this package needs no schema library.
 */

import type { ToolSchema } from '@meanwhile/core'

/** One member of an input. */
export interface Member<Value> {
  readonly json: Readonly<Record<string, unknown>>
  /** The error message for a value that is not accepted. */
  readonly must: string
  /** Set on an optional member, with the value that is used if it is missing. */
  readonly optional?: { readonly fallback: Value }
  accepts(value: unknown): value is Value
}

type InputOf<Members> = { readonly [Key in keyof Members]: Members[Key] extends Member<infer Value> ? Value : never }

/**
 * An object with these members and no others. An optional member may be missing or `null` (which some providers send
 * for a missing value); then it gets its fallback.
 */
export function inputSchema<Members extends Readonly<Record<string, Member<unknown>>>>(
  members: Members,
): ToolSchema<InputOf<Members>> {
  const entries = Object.entries<Member<unknown>>(members)
  const json = () => ({
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, member]) => [key, member.json])),
    required: entries.flatMap(([key, member]) => (member.optional ? [] : [key])),
    additionalProperties: false,
  })
  return {
    '~standard': {
      version: 1,
      vendor: 'meanwhile',
      jsonSchema: { input: json, output: json },
      validate(value) {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) {
          return { issues: [{ message: 'must be an object' }] }
        }
        const given = new Map<string, unknown>(Object.entries(value))
        const issues = [...given.keys()]
          .filter((key) => !Object.hasOwn(members, key))
          .map((key) => ({ path: [key], message: 'is not a member of this input' }))
        const input: Record<string, unknown> = {}
        for (const [key, member] of entries) {
          const one = given.get(key) ?? undefined
          if (one === undefined && member.optional) input[key] = member.optional.fallback
          else if (member.accepts(one)) input[key] = one
          else issues.push({ path: [key], message: one === undefined ? 'is missing' : member.must })
        }
        return issues.length > 0 ? { issues } : { value: input as InputOf<Members> }
      },
    },
  }
}

/** A text of at least `minLength` (0) characters. */
export function text(description: string, { minLength = 0 }: { readonly minLength?: number } = {}): Member<string> {
  return {
    json: { type: 'string', description, ...(minLength > 0 && { minLength }) },
    must: minLength > 0 ? `must be a text of at least ${minLength} characters` : 'must be a text',
    accepts: (value): value is string => typeof value === 'string' && value.length >= minLength,
  }
}

/** A whole number of at least `minimum`. */
export function whole(description: string, { minimum }: { readonly minimum: number }): Member<number> {
  return {
    json: { type: 'integer', description, minimum },
    must: `must be a whole number of at least ${minimum}`,
    accepts: (value): value is number => Number.isSafeInteger(value) && (value as number) >= minimum,
  }
}

/** A boolean. */
export function flag(description: string): Member<boolean> {
  return {
    json: { type: 'boolean', description },
    must: 'must be true or false',
    accepts: (value): value is boolean => typeof value === 'boolean',
  }
}

/** One of these words. */
export function oneOf<const Word extends string>(words: readonly Word[], description: string): Member<Word> {
  return {
    json: { type: 'string', enum: words, description },
    must: `must be one of ${words.join(', ')}`,
    accepts: (value): value is Word => words.some((word) => word === value),
  }
}

/** A list of these. */
export function listOf<Value>(member: Member<Value>, description: string): Member<readonly Value[]> {
  return {
    json: { type: 'array', items: member.json, description },
    must: `must be a list in which each item ${member.must}`,
    accepts: (value): value is readonly Value[] => Array.isArray(value) && value.every((one) => member.accepts(one)),
  }
}

/** Makes the member optional; `fallback` is used if it is missing. */
export function optional<Value>(member: Member<Value>, fallback: NoInfer<Value>): Member<Value>
export function optional<Value>(member: Member<Value>): Member<Value | undefined>
export function optional<Value>(member: Member<Value>, fallback?: Value): Member<Value | undefined> {
  return {
    ...member,
    json: fallback === undefined ? member.json : { ...member.json, default: fallback },
    optional: { fallback },
  }
}
