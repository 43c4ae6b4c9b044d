import { readdir, readFile } from 'node:fs/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { describe, expect, test } from 'vitest'
import { answersTo, tools } from '../../test/checkpoint-fixtures.ts'
import { FIXTURES, resumed } from '../../test/optional-members.ts'
import {
  type AgentOptions,
  type AgentRun,
  type Checkpoint,
  CheckpointCorruptError,
  createAgent,
  memoryStore,
} from '../index.ts'
import { checksumOf } from './checkpoint.ts'

// Checkpoints of each format, as a version wrote them. They are pinned; those of a released format must never be rewritten.

const FOLDER = new URL('../../test-data/checkpoints/', import.meta.url)

async function pinned(
  format: number,
  name: string,
): Promise<{ readonly text: string; readonly checkpoint: Checkpoint }> {
  const text = await readFile(new URL(`format-${format}-${name}.json`, FOLDER), 'utf8')
  return { text, checkpoint: JSON.parse(text) as Checkpoint }
}

function agentOf(did: string[], more: Partial<AgentOptions> = {}) {
  const model = scriptedModel([respond(say('Done'))])
  return { model, agent: createAgent({ name: 'fixture', model, tools: tools(did), ...more }) }
}

const outputs = async ({ result }: AgentRun) =>
  (await result).messages.flatMap((message) => (message.role === 'tool' ? [message.output ?? 'unknown'] : []))

test('each kind of checkpoint has a fixture (L18)', async () => {
  expect((await readdir(FOLDER)).toSorted()).toEqual([
    'format-1-cancelled.json',
    'format-1-completed.json',
    'format-1-early-calls.json',
    'format-1-interrupted.json',
    'format-1-optional',
    'format-1-reentrancy.json.gz',
    'format-1-undone-calls.json',
  ])
})

describe.each([1])('of format %i', (format) => {
  test('a pinned interrupted run continues: the questions are answered, the other calls are not repeated (L18)', async () => {
    const { checkpoint } = await pinned(format, 'interrupted')
    const did: string[] = []
    const { agent, model } = agentOf(did)
    const run = agent.resume(checkpoint, answersTo(checkpoint))
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done', steps: 2, usage: { inputTokens: 12 } })
    expect(await outputs(run)).toEqual(['look', 'book yes'])
    expect(did).toEqual(['book 2'])
    expect(model.requests).toHaveLength(1)
  })

  test('a pinned cancelled run continues: the read is made again, the rest may have happened (L18, L20, L21)', async () => {
    const { checkpoint } = await pinned(format, 'cancelled')
    const did: string[] = []
    const run = agentOf(did).agent.resume(checkpoint)
    expect(await outputs(run)).toEqual(['look', 'unknown'])
    expect((await run.result).unknown).toEqual(['b'])
    expect(did).toEqual(['look 2'])
  })

  test('a pinned completed run returns its result (L18, L19)', async () => {
    const { checkpoint } = await pinned(format, 'completed')
    const { agent, model } = agentOf([])
    expect(await agent.resume(checkpoint).result).toMatchObject({ status: 'completed', text: 'Hello.', steps: 1 })
    expect(model.requests).toEqual([])
  })

  test('the early calls of a pinned run are joined (L18, H27)', async () => {
    const { checkpoint } = await pinned(format, 'early-calls')
    const did: string[] = []
    const model = scriptedModel([
      respond(call('look', {}, { id: 'x' }), call('hold', {}, { id: 'y' })),
      respond(say('Done')),
    ])
    const run = createAgent({ name: 'fixture', model, tools: tools(did) }).resume(checkpoint)
    expect(await outputs(run)).toEqual(['look', 'hold'])
    expect(did).toEqual([])
  })

  test('a call that was being undone in a pinned run is neither joined nor undone, and the others are joined (L18, P22)', async () => {
    const { checkpoint } = await pinned(format, 'undone-calls')
    const did: string[] = []
    const model = scriptedModel([
      respond(call('look', {}, { id: 'x' }), call('hold', { ms: 200 }, { id: 'y' })),
      respond(say('Done')),
    ])
    const run = createAgent({ name: 'fixture', model, tools: tools(did) }).resume(checkpoint)
    expect(await outputs(run)).toEqual(['look', 'hold'])
    expect(did).toEqual(['hold 1'])
    const { unknown, warnings } = await run.result
    expect([unknown, warnings.map(({ code }) => code)]).toEqual([['b'], ['compensation-failed']])
  })

  test('a pinned checkpoint resumes from a store, and a refused resume leaves its bytes unchanged (L18)', async () => {
    const { checkpoint } = await pinned(format, 'interrupted')
    const checkpoints = memoryStore()
    await checkpoints.save(checkpoint.runId, { ...checkpoint, revision: 1 }, 0)
    const before = await checkpoints.load(checkpoint.runId)
    const other = agentOf([], { checkpoints, name: 'other' })
    await expect(other.agent.resume(checkpoint.runId).result).rejects.toMatchObject({ name: 'CheckpointMismatchError' })
    expect(await checkpoints.load(checkpoint.runId)).toEqual(before)
    const { agent } = agentOf([], { checkpoints })
    expect((await agent.resume(checkpoint.runId, answersTo(checkpoint)).result).text).toBe('Done')
  })

  test.for(Object.entries(FIXTURES))(
    'a pinned run continues with members that only some checkpoints have: %s (L18)',
    async ([name, fixture]) => {
      const text = await readFile(new URL(`format-${format}-optional/${name}.json`, FOLDER), 'utf8')
      const pinned = JSON.parse(text) as { readonly checkpoint: Checkpoint; readonly resumed: unknown }
      expect(await resumed(fixture, pinned.checkpoint)).toEqual(pinned.resumed)
    },
  )
})

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  [5, 'a number'],
])('a resume of %s fails with an error that explains what a resume takes (L18)', async (from, what) => {
  const agent = createAgent({ model: scriptedModel([]) })
  const message = `checkpoint: resume takes a checkpoint or the id of a stored one; this is ${what}`
  await expect(agent.resume(from as never).result).rejects.toMatchObject({ name: 'CheckpointCorruptError', message })
})

test.each([
  ['revision', -1],
  ['revision', 'x'],
  ['revision', undefined],
  ['format', 0],
])('a checkpoint whose %s is %s is damaged (L18)', async (member, value) => {
  const { checkpoint } = await pinned(1, 'interrupted')
  const { checksum: _, ...damaged } = { ...checkpoint, [member]: value }
  const from = { ...damaged, checksum: checksumOf(damaged) } as Checkpoint
  await expect(agentOf([]).agent.resume(from, answersTo(from)).result).rejects.toBeInstanceOf(CheckpointCorruptError)
})
