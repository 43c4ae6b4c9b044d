import type { ScriptStep } from '@meanwhile/assemble/testing'
import type { ScriptedReply } from '@meanwhile/harness/server'
import { expect, test } from 'vitest'
import { ALL_SCENARIOS, SCENARIOS } from './scenarios.ts'

test('every scenario has the tokens, calls, durations and pace of the specification', () => {
  expect(Object.fromEntries(ALL_SCENARIOS.map((id) => [id, shapeOf(id)]))).toEqual({
    a: { before: 10, calls: repeat(3, { toolMs: 300, fragments: 25, content: 80 }), after: 0, pace: 20, answer: 10 },
    b: { before: 5, calls: [{ toolMs: 300, fragments: 25, content: 80 }], after: 60, pace: 20, answer: 10 },
    c: { before: 5, calls: repeat(8, { toolMs: 150, fragments: 12, content: 40 }), after: 0, pace: 20, answer: 10 },
    d50: { before: 5, calls: [{ toolMs: 0, fragments: 5_000, bytes: 50_000 }], after: 0, pace: 0, answer: 10 },
    d100: { before: 5, calls: [{ toolMs: 0, fragments: 10_000, bytes: 100_000 }], after: 0, pace: 0, answer: 10 },
    d200: { before: 5, calls: [{ toolMs: 0, fragments: 20_000, bytes: 200_000 }], after: 0, pace: 0, answer: 10 },
    e: { before: 20_000, calls: [], after: 0, pace: 0, answer: 20_000 },
    f: {
      before: 5,
      calls: [1_000, 50, 50, 50, 50, 50].map((toolMs) => ({ toolMs, fragments: 12, content: 40 })),
      after: 0,
      pace: 20,
      answer: 10,
    },
    g: { before: 5, calls: [{ toolMs: 300, fragments: 25, content: 80 }], after: 60, pace: 20, answer: 10 },
  })
  expect(ALL_SCENARIOS.filter((id) => SCENARIOS[id].tools[0]?.effect !== 'read')).toEqual(['g'])
  expect(SCENARIOS.g.tools[0]?.effect).toBe('external')
})

test('d writes files in deltas of ten bytes, all others run tasks', () => {
  for (const id of ALL_SCENARIOS) {
    expect(SCENARIOS[id].tools.map(({ name }) => name)).toEqual([id.startsWith('d') ? 'write_file' : 'run_task'])
  }
  const steps = stepsOf(SCENARIOS.d50.script[0])
  const deltas = steps.flatMap((step) => (step.type === 'call' ? step.deltas : []))
  expect(new Set(deltas.map((delta) => Buffer.byteLength(delta)))).toEqual(new Set([10]))
})

test('the arguments are JSON of the right members, with quotes, braces and escapes in it', () => {
  for (const id of ALL_SCENARIOS) {
    const { turns, script } = SCENARIOS[id]
    const texts = stepsOf(script[0]).flatMap((step) => (step.type === 'call' ? step.deltas.join('') : []))
    expect(texts.map((text) => JSON.parse(text))).toEqual(turns.flat().map(({ input }) => input))
    for (const text of texts) for (const trap of ['\\"', '{all}', '\\n', '\\\\']) expect(text).toContain(trap)
  }
})

test('a run has one step with calls and one with the answer; e has a single request', () => {
  for (const id of ALL_SCENARIOS) {
    expect(SCENARIOS[id].script.map((reply) => ('finishReason' in reply ? reply.finishReason : undefined))).toEqual(
      id === 'e' ? ['stop'] : ['tool-calls', 'stop'],
    )
  }
})

function shapeOf(id: (typeof ALL_SCENARIOS)[number]): object {
  const { script, turns, pace } = SCENARIOS[id]
  const [calls = []] = turns
  const steps = stepsOf(script[0])
  const made = steps.filter((step) => step.type === 'call')
  const firstCall = steps.findIndex((step) => step.type === 'call')
  const split = firstCall < 0 ? steps.length : firstCall
  return {
    before: textTokens(steps.slice(0, split)),
    calls: made.map(({ deltas }, index) => {
      const call = calls[index]
      const bytes = Buffer.byteLength(deltas.join(''))
      const size = bytes < 1_000 ? { content: Buffer.byteLength(contentOf(call?.input)) } : { bytes }
      return { toolMs: call?.toolMs, fragments: deltas.length, ...size }
    }),
    after: textTokens(steps.slice(split)),
    pace: pace?.betweenTokens ?? 0,
    answer: textTokens(stepsOf(script.at(-1))),
  }
}

function stepsOf(reply: ScriptedReply | undefined): readonly ScriptStep[] {
  return reply && 'steps' in reply ? reply.steps : []
}

function contentOf(input: unknown): string {
  return typeof input === 'object' && input !== null && 'content' in input ? String(input.content) : ''
}

function textTokens(steps: readonly ScriptStep[]): number {
  return steps.reduce((sum, step) => sum + (step.type === 'say' ? step.deltas.length : 0), 0)
}

function repeat<Item>(count: number, item: Item): Item[] {
  return Array.from({ length: count }, () => item)
}
