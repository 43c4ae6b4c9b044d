import { Agent, tool } from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, type Case, consumed, done, played, requested } from '../../test/agents.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a misspelt tool name is a warning in the first turn, once (R11)', async () => {
  const said: string[] = []
  const onWarning = ({ code, message }: { code: string; message: string }) => void said.push(`${code}: ${message}`)
  const go: Case['go'] = async (runner, agent) => {
    for (const _ of [1, 2]) await consumed(await runner.run(agent, 'go', { stream: true }))
  }
  await played({ responses: [answer], effects: { lok: 'read' }, settings: { onWarning }, go }, true)
  expect(said).toEqual(['unknown-tool: effects.lok is not the name of a tool; did you mean look?'])
})

test('each misspelt name in effects, approval, independent and schemas is a warning in the first turn (R11)', async () => {
  const said: string[] = []
  const onWarning = ({ code, message }: { code: string; message: string }) => void said.push(`${code}: ${message}`)
  const go: Case['go'] = async (runner, agent) => {
    for (const _ of [1, 2]) await consumed(await runner.run(agent, 'go', { stream: true }))
  }
  const effects = { lok: 'read', loook: 'read' } as const
  await played(
    {
      responses: [answer],
      effects,
      settings: { onWarning, approval: ['lok'], independent: ['lok'], schemas: { lok: 'fixed' } },
      go,
    },
    true,
  )
  expect(said).toEqual([
    'unknown-tool: effects.lok is not the name of a tool; did you mean look?',
    'unknown-tool: effects.loook is not the name of a tool; did you mean look?',
    'unknown-tool: approval: lok is not the name of a tool; did you mean look?',
    'unknown-tool: independent: lok is not the name of a tool; did you mean look?',
    'unknown-tool: schemas: lok is not the name of a tool; did you mean look?',
  ])
})

test('a tool of an agent that comes later is known (R11)', async () => {
  const other = new Agent({
    name: 'b',
    tools: [tool({ name: 'other', description: 'o', parameters: z.object({}), execute: () => 'x' })],
  })
  const { warnings } = await played(
    { responses: [answer], effects: { look: 'read', other: 'read' }, agent: { handoffs: [other] } },
    true,
  )
  expect(warnings).toEqual([])
})

test('a runner with effects for several agents warns of nothing: in a run of one of them, and in a conversation that goes on with the last agent (W48)', async () => {
  const named = (name: string) => tool({ name, description: name, parameters: z.object({}), execute: () => name })
  const refund = new Agent({ name: 'refunds', model: 'scripted', tools: [named('refund'), named('book')] })
  const triage = new Agent({ name: 'triage', model: 'scripted', tools: [named('look')], handoffs: [refund] })
  const go: Case['go'] = async (runner) => {
    const first = await runner.run(triage, 'go', { stream: true })
    await consumed(first)
    const { lastAgent = triage, history } = first
    const later = [...history, { role: 'user' as const, content: 'and' }]
    for (const agent of [lastAgent, triage]) await consumed(await runner.run(agent, later, { stream: true }))
    await consumed(await runner.run(refund, 'go', { stream: true }))
    return lastAgent.name
  }
  const effects = { look: 'read', book: 'read', weather: 'read' } as const
  const responses = [[done(requested('h', 'transfer_to_refunds', '{}'))], answer]
  const { warnings, result } = await played({ responses, effects, go }, true)
  expect([result, warnings]).toEqual(['refunds', []])
})

test('with mayBeMissing no name is a warning, whatever it resembles (W26)', async () => {
  const settings = { approval: ['lok'], independent: ['lok'], schemas: { lok: 'fixed' } } as const
  const program: Case = { responses: [answer], effects: { lok: 'read' } }
  expect((await played({ ...program, settings: { ...settings, mayBeMissing: false } }, true)).warnings).toHaveLength(4)
  expect((await played({ ...program, settings: { ...settings, mayBeMissing: true } }, true)).warnings).toEqual([])
})

test('a name that resembles no tool, or may be that of a tool of an MCP server, causes no warning (R11)', async () => {
  expect((await played({ responses: [answer], effects: { weather: 'read' } }, true)).warnings).toEqual([])
  const mcpServers = [{ name: 'm' }] as never
  const other = new Agent({ name: 'b', mcpServers })
  const agent = { handoffs: [other] }
  expect((await played({ responses: [answer], effects: { lok: 'read' }, agent }, true)).warnings).toEqual([])
})
