/** Parses and validates a workload file. */

import { messageOf } from '@meanwhile/core'
import type { z } from 'zod'
import { UsageError } from '../usage-error.ts'
import { WORKLOAD_SCHEMA, type Workload } from './schema.ts'

/** Throws a {@link UsageError} that names the file and the position of the error. */
export function parseWorkload(text: string, file: string): Workload {
  const { data, error } = WORKLOAD_SCHEMA.safeParse(parsed(text, file))
  if (data) return data
  const [issue, ...more] = error.issues.map(innermost)
  const others = more.length > 0 ? ` (and ${more.length} more)` : ''
  throw new UsageError(`${file}: ${issue ? textOf(issue) : error.message}${others}`)
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${file} is not JSON: ${messageOf(cause)}`, { cause })
  }
}

type Issue = z.core.$ZodIssue

/** For a union the best matching alternative has the message, for a key its own schema. */
function innermost(issue: Issue): Issue {
  if (issue.code === 'invalid_key') return { ...issue, message: issue.issues[0]?.message ?? issue.message }
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return issue
  const [best] = issue.errors.toSorted((a, b) => a.length - b.length)
  const [first] = best ?? []
  return first ? innermost({ ...first, path: [...issue.path, ...first.path] }) : issue
}

function textOf({ path, message }: Issue): string {
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  const what = message.replace(/^Invalid input: /, '')
  return place === '' ? what : `${place.replace(/^\./, '')}: ${what}`
}
