import { readdir, readFile } from 'node:fs/promises'
import { collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { sized } from '@meanwhile/tests/size'
import { beforeEach, expect, test, vi } from 'vitest'
import { answersTo, tools } from '../../test/checkpoint-fixtures.ts'
import { agentOf, FIXTURES } from '../../test/optional-members.ts'
import { type Agent, AgentError, type Checkpoint, createAgent, messageOf } from '../index.ts'
import { signed } from './checkpoint.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const FOLDER = new URL('../../test-data/checkpoints/', import.meta.url)

async function pinned(name: string): Promise<Checkpoint> {
  const file = JSON.parse(await readFile(new URL(`format-1-${name}.json`, FOLDER), 'utf8'))
  return file.checkpoint ?? file
}

/** The paths of all values in a JSON value. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, member]) => placesIn(member, [...path, key]))]
}

const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value)

/** Of this many changed members one is tried. */
const EVERY = sized({ small: 64, middle: 48, whole: 1 })

const OTHERS: readonly unknown[] = [null, 7, 'x', true, [], [null], {}, undefined]

/** The value with another value at this path. `undefined`: without the member. */
function changed(value: unknown, [key, ...path]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) }
  return Object.assign(copy, { [key]: changed(Reflect.get(copy, key), path, to) })
}

/** As JSON, with the correct checksums at all levels. */
function sealed(checkpoint: Checkpoint): Checkpoint {
  const { checksum: _, ...rest } = JSON.parse(JSON.stringify(checkpoint), (key, value) =>
    key === 'checkpoint' && typeof value === 'object' && value ? sealed(value) : value,
  )
  return signed(rest)
}

function plainAgent(): Agent {
  return createAgent({ name: 'fixture', model: scriptedModel([respond(say('Done'))]), tools: tools([]) })
}

const CASES: readonly (readonly [string, () => Agent])[] = [
  ...['interrupted', 'cancelled', 'completed', 'early-calls', 'undone-calls'].map(
    (name) => [name, plainAgent] as const,
  ),
  ...Object.entries(FIXTURES).map(
    ([name, fixture]) => [`optional/${name}`, () => agentOf(fixture, [], 'after')] as const,
  ),
]

test('each pinned checkpoint is examined (L18)', async () => {
  const files = [...(await readdir(FOLDER)), ...(await readdir(new URL('format-1-optional', FOLDER)))]
  const names = files.filter((file) => file.endsWith('.json'))
  expect(CASES.map(([name]) => name.slice(name.indexOf('/') + 1)).toSorted()).toEqual(
    names.map((name) => name.slice(0, -5).replace('format-1-', '')).toSorted(),
  )
})

test.each(CASES)(
  'if a member of a checkpoint has a wrong type, the checkpoint is refused with an AgentError: %s (L18)',
  async (name, agentFor) => {
    const checkpoint = await pinned(name)
    const raw: string[] = []
    let changes = 0
    for (const path of placesIn(checkpoint)) {
      const before = path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), checkpoint)
      for (const to of OTHERS) {
        if (path.length === 0 || kindOf(to) === kindOf(before) || changes++ % EVERY !== 0) continue
        let from: Checkpoint
        try {
          from = sealed(changed(checkpoint, path, to) as Checkpoint)
        } catch {
          continue
        }
        const agent = agentFor()
        const resumed = collect(agent.resume(from, answersTo(checkpoint)))
        const closed = agent.close(from).catch((error: unknown) => error)
        await vi.runAllTimersAsync()
        const place = `${path.join('.')} = ${JSON.stringify(to)}`
        const { error } = await resumed
        if (error !== undefined && !(error instanceof AgentError)) raw.push(`${place}: resume ${messageOf(error)}`)
        const other = await closed
        if (other instanceof Error && !(other instanceof AgentError)) raw.push(`${place}: close ${messageOf(other)}`)
      }
    }
    expect(raw).toEqual([])
  },
)
