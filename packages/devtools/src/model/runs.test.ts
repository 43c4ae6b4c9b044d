import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recorded, recordedRun, recordedRuns } from '../../test/recorded.ts'
import type { Attributes, Span } from '../span.ts'
import { text } from './attributes.ts'
import type { Call, Response, Run } from './run.ts'
import { latest, runsOf } from './runs.ts'

test('a run of Meanwhile has steps, attempts, calls with their waits and fates, and agents inside (DT3)', () => {
  expect(outline(recordedRun('trip'))).toEqual([
    'trip_planner claude-sonnet-4-5: completed after 9202, 2 errors, read 7380 wrote 366 cached 5888',
    '  step 1',
    '    response 7 268 3728 completed',
    '    flights read early 1322-1675! 1811-2963 committed, complete 1325, commit 2963-3807',
    '    weather read early 1518-2139 committed, complete 1519, commit 2139-3807',
    '    hotels read early 1649-2540 committed, complete 2300, rest 1910-2300, commit 2540-3807',
    '    guide calls early 2791-4704 committed, complete 2792',
    '      guide claude-haiku-4-5: completed after 1912, 0 errors, read 1050 wrote 67 cached 384',
    '        step 1',
    '          response 1 260 1044 completed',
    '          search read early 627-1016 committed, complete 628, commit 1016-1046',
    '          open_page read early 1043-1344 committed, complete 1044',
    '        step 2',
    '          response 1348 1608 1896 completed',
    '  step 2',
    '    response 4713 4974 5755 failed: the response was cut off: its stream had no terminal event',
    '    response 5936 6197 7524 completed',
    '    hold_room reversible early 5575-5879 discarded, complete 5573, commit 5879-7527, call_withdrawn, undone',
    '    hold_room reversible early 6614-6916 committed, complete 6614, commit 6916-7528',
    '    send_mail external 7526-7948 committed, complete 7420, conflict',
    '  step 3',
    '    response 7951 8211 9201 completed',
  ])
})

test('a run of the AI SDK, with the tokens of its responses counted once (DT3)', () => {
  expect(outline(recordedRun('ai-sdk'))).toEqual([
    'trip mock-1: completed after 2660, 1 errors, read 1742 wrote 81 cached 200',
    '  step 1',
    '    response 7 301 1352 completed',
    '    hotels 1358-1668! failed',
    '    weather 1358-2175 committed',
    '  step 2',
    '    response 2178 2443 2656 completed',
  ])
})

test('a run of LangChain by OpenInference, with results without their wrapping (DT3)', () => {
  const run = recordedRun('langchain')
  expect(outline(run)).toEqual([
    'trip gpt-5-mini: completed after 2529, 1 errors, read 1742 wrote 81 cached 1280',
    '  step 1',
    '    response 25 - 1249 completed',
    '    weather 1259-2060 committed',
    '    hotels 1259-1560! failed',
    '  step 2',
    '    response 2066 - 2524 completed',
  ])
  expect(run.conversation).toBe('thread-7')
  expect(run.steps[0]?.calls[0]).toMatchObject({ input: { city: 'Rome', days: 3 }, output: 'Sunny in Rome' })
})

test('model calls without a run above them are runs of their own (DT3)', () => {
  const runs = recordedRuns('openai-agents-instrumentation')
  expect(runs.flatMap(outline)).toEqual([
    'undefined gpt-5-mini: completed after 529, 0 errors, read 930 wrote 17 cached 768',
    '  step 1',
    '    response 0 - 529 completed',
    'undefined gpt-5-mini: completed after 1235, 0 errors, read 812 wrote 64 cached 512',
    '  step 1',
    '    response 0 - 1235 completed',
  ])
  expect(runs.map(({ synthetic }) => synthetic)).toEqual([true, true])
})

test('runs are the same in any order of arrival, in any batches, with spans repeated and told while open (DT1)', () => {
  const given = [...recorded('trip'), ...recorded('ai-sdk'), ...recorded('langchain'), ...recorded('bench-f')]
  const expected = runsOf(latest(given))
  const indexes = fc.shuffledSubarray([...given.keys()], { minLength: given.length })
  const repeats = fc.array(fc.record({ of: fc.nat(given.length - 1), at: fc.nat(given.length), open: fc.boolean() }))
  fc.assert(
    fc.property(indexes, repeats, (order, again) => {
      const arrived = order.flatMap((index) => given[index] ?? [])
      for (const { of, at, open } of again) {
        const span = given[of]
        if (span) arrived.splice(at, 0, open ? opened(span) : span)
      }
      expect(runsOf(latest(arrived))).toEqual(expected)
    }),
    propertyRuns({ small: 20, middle: 32, whole: 2_000 }),
  )
})

test('spans with any parents, kinds and numbers make runs that contain each response and each call once (DT1)', () => {
  const operations = ['invoke_agent', 'agent_step', 'chat', 'execute_tool', 'embeddings', undefined] as const
  const some = fc.array(
    fc.record({
      parent: fc.option(fc.nat(30), { nil: undefined }),
      operation: fc.constantFrom(...operations),
      start: fc.integer({ min: 1, max: 1_000 }),
      ms: fc.option(fc.nat(500), { nil: undefined }),
      step: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      id: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
    }),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(some, (drawn) => {
      const spans = drawn.map(({ parent, operation, start, ms, step, id }, index) =>
        spanWith(index, {
          start,
          ...(parent !== undefined && { parentId: idOf(parent) }),
          ...(ms !== undefined && { end: start + ms }),
          attributes: {
            ...(operation && { 'gen_ai.operation.name': operation }),
            ...(step && { 'meanwhile.step.index': step }),
            ...(id && { 'gen_ai.tool.call.id': id }),
          },
        }),
      )
      const runs = runsOf(spans)
      const drawnIds = runs.flatMap(spansIn).sort()
      const expected = spans
        .filter(({ attributes }) => /^(chat|execute_tool)$/.test(`${text(attributes, 'gen_ai.operation.name')}`))
        .map(({ spanId }) => spanId)
      expect(drawnIds).toEqual(expected.sort())
      expect(runsOf([...spans].reverse())).toEqual(runs)
    }),
    propertyRuns({ small: 300, middle: 480, whole: 100_000 }),
  )
})

test('a run that waits for an answer has the calls that it has not made (DT3)', () => {
  const request = (id: string, name: string, input: object) => ({ type: 'tool_call', id, name, arguments: input })
  const parts = [request('c1', 'look', { at: 1 }), request('c2', 'send_mail', { to: 'ada' })]
  const waitingIn = (outcome: string) =>
    runsOf([
      spanWith(0, { end: 9, attributes: { 'gen_ai.operation.name': 'invoke_agent', 'meanwhile.outcome': outcome } }),
      spanWith(1, {
        end: 5,
        parentId: idOf(0),
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts }]),
        },
      }),
      spanWith(2, {
        start: 3,
        end: 7,
        parentId: idOf(0),
        attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.id': 'c1' },
      }),
    ]).flatMap(({ steps }) => steps.map(({ waiting }) => waiting))
  expect(waitingIn('interrupted')).toEqual([[{ id: 'c2', tool: 'send_mail', input: { to: 'ada' } }]])
  expect(waitingIn('completed')).toEqual([undefined])
})

test('a call without a run above it contains the run of its agent once (DT1)', () => {
  const named = (operation: string) => ({ attributes: { 'gen_ai.operation.name': operation } })
  const spans = [
    spanWith(0, { start: 1, ...named('execute_tool') }),
    spanWith(1, { start: 2, parentId: idOf(0), ...named('invoke_agent') }),
    spanWith(2, { start: 3, parentId: idOf(1), ...named('chat') }),
  ]
  expect(runsOf(spans).flatMap(spansIn).sort()).toEqual([idOf(0), idOf(2)])
})

test('a run appears while its own span is missing, and takes the key of that span when it arrives (DT1)', () => {
  const spans = recorded('ai-sdk')
  const root = spans.find(({ attributes }) => attributes['gen_ai.operation.name'] === 'invoke_agent')
  const [before, ...more] = runsOf(spans.filter((span) => span !== root))
  expect(more).toEqual([])
  expect(before).toMatchObject({ synthetic: true, calls: 2, dialect: 'ai-sdk' })
  expect(before?.steps.map(({ index }) => index)).toEqual([1, 2])
  expect(recordedRun('ai-sdk')).toMatchObject({ synthetic: false, key: `${root?.traceId}-${root?.spanId}` })
})

test('two executions with one id are one call; with the same number they are a discarded call and its successor (DT1)', () => {
  const execution = (index: number, attempt: number, outcome: string) =>
    spanWith(index, {
      start: index * 10,
      end: index * 10 + 5,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.call.id': 'c1',
        'meanwhile.step.index': 1,
        'meanwhile.attempt': attempt,
        'meanwhile.outcome': outcome,
      },
    })
  const spans = [execution(1, 1, 'discarded'), execution(2, 1, 'failed'), execution(3, 2, 'committed')]
  const calls = runsOf(spans).flatMap(({ steps }) => steps.flatMap((step) => step.calls))
  expect(calls.map(({ fate, executions }) => [fate, executions.map(({ start }) => start)])).toEqual([
    ['discarded', [10]],
    ['committed', [20, 30]],
  ])
})

test('a call that waited for its commit tells when its response was accepted, a discarded one does not (DT1)', () => {
  const execution = (index: number, outcome: string) =>
    spanWith(index, {
      start: index * 10,
      end: index * 10 + 5,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.call.id': `c${index}`,
        'meanwhile.outcome': outcome,
        'meanwhile.commit.lag': 0.1,
      },
    })
  const spans = [execution(1, 'committed'), execution(2, 'discarded')]
  const calls = runsOf(spans).flatMap(({ steps }) => steps.flatMap((step) => step.calls))
  expect(calls.map(({ waits, stood }) => [waits, stood])).toEqual([
    [[{ kind: 'commit', from: 15, to: 115 }], 115],
    [[{ kind: 'commit', from: 25, to: 125 }], undefined],
  ])
})

test('the span of a library that waits for an early call is not another call, also if it has no call id (DT3)', () => {
  const tool = (index: number, start: number, end: number, attributes: Attributes) =>
    spanWith(index, {
      start,
      end,
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'look', ...attributes },
    })
  const early = (id: string, outcome: string) => ({
    'gen_ai.tool.call.id': id,
    'meanwhile.dispatch.mode': 'early',
    'meanwhile.outcome': outcome,
  })
  const chat = spanWith(0, { start: 1, end: 100, attributes: { 'gen_ai.operation.name': 'chat' } })
  const callsOf = (...tools: Span[]) =>
    runsOf([chat, ...tools]).flatMap(({ steps }) =>
      steps.flatMap(({ calls }) => calls.map(({ start, end, fate, early: isEarly }) => [start, end, fate, isEarly])),
    )
  const [used, other] = [tool(1, 40, 90, early('c1', 'committed')), tool(2, 101, 160, { 'gen_ai.tool.call.id': 'c2' })]
  expect(callsOf(used, other, tool(3, 101, 103, { 'gen_ai.tool.call.id': 'c1' }))).toEqual([
    [40, 90, 'committed', true],
    [101, 160, 'committed', false],
  ])
  // The call has what only that span contains.
  const content = { 'gen_ai.tool.call.arguments': '{"q":1}', 'gen_ai.tool.call.result': 'found' }
  const waited = tool(3, 101, 103, { 'gen_ai.tool.call.id': 'c1', ...content })
  const agent = spanWith(4, { start: 50, parentId: idOf(3), attributes: { 'gen_ai.operation.name': 'invoke_agent' } })
  const [call] = runsOf([chat, used, waited, agent]).flatMap(({ steps }) => steps.flatMap(({ calls }) => calls))
  expect(call).toMatchObject({ input: { q: 1 }, output: 'found', inner: [{ key: expect.stringContaining(idOf(4)) }] })
  // Of two without an id the shorter one has waited.
  expect(callsOf(used, tool(2, 101, 160, {}), tool(3, 102, 103, {}))).toEqual([
    [40, 90, 'committed', true],
    [101, 160, 'committed', false],
  ])
  const unused = tool(1, 40, 90, early('c1', 'discarded'))
  expect(callsOf(unused, tool(3, 101, 160, { 'gen_ai.tool.call.id': 'c1' }))).toEqual([
    [40, 90, 'discarded', true],
    [101, 160, 'committed', false],
  ])
})

test('while its response runs, a call has ended when its function has: by the duration that its open span tells (DT6)', () => {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'meanwhile.dispatch.mode': 'early',
    'meanwhile.tool.duration': 0.25,
  }
  const [run] = runsOf([spanWith(1, { start: 1_000, attributes })])
  expect(run?.steps[0]?.calls[0]).toMatchObject({ start: 1_000, end: 1_250, fate: 'committed' })
})

test('spans with impossible times are counted and not drawn (DT2)', () => {
  const chat = { 'gen_ai.operation.name': 'chat' }
  const year = 366 * 86_400_000
  const wrong = [
    { start: 0, end: 5 },
    { start: 10, end: 9 },
    { start: 10, end: 11 + year },
  ].map((times, index) => spanWith(index + 2, { ...times, attributes: chat }))
  const [run, ...more] = runsOf([spanWith(1, { start: 10, end: 20, attributes: chat }), ...wrong])
  expect(more).toEqual([])
  expect(run).toMatchObject({ impossible: 3, start: 10, end: 20 })
})

const idOf = (index: number): string => String(index + 1).padStart(16, '0')

function spanWith(
  index: number,
  { attributes = {}, ...members }: Partial<Span> & { readonly attributes?: Attributes },
): Span {
  return {
    traceId: '1'.repeat(32),
    spanId: idOf(index),
    name: 'span',
    kind: 0,
    start: 1,
    attributes,
    events: [],
    links: [],
    status: 0,
    scope: 'test',
    scopeVersion: '',
    resource: {},
    ...members,
  }
}

function opened({ end, ...span }: Span): Span {
  return span
}

function spansIn(run: Run): string[] {
  const inside = run.steps.flatMap(({ responses, calls }) => [
    ...responses.map(({ spanId }) => spanId),
    ...calls.flatMap(({ executions, inner }) => [...executions.map(({ spanId }) => spanId), ...inner.flatMap(spansIn)]),
  ])
  return [...inside, ...run.inner.flatMap(spansIn)]
}

/** A run in lines; times in milliseconds after its start. */
function outline(run: Run): string[] {
  const at = (time: number | undefined) => (time === undefined ? '-' : String(Math.round(time - run.start)))
  const response = ({ start, first, end, state, error }: Response) =>
    `    response ${at(start)} ${at(first)} ${at(end)} ${state}${error ? `: ${error}` : ''}`
  const call = (one: Call) => {
    const executions = one.executions.map(({ start, end, error }) => `${at(start)}-${at(end)}${error ? '!' : ''}`)
    const facts = [one.tool, one.effect, one.early ? 'early' : undefined, ...executions, one.fate]
    const more = [
      one.closed && `complete ${at(one.closed)}`,
      ...one.waits.filter(({ kind }) => kind !== 'slot').map(({ kind, from, to }) => `${kind} ${at(from)}-${at(to)}`),
      one.deferral,
      one.reason,
      one.undone && 'undone',
    ]
    return `    ${[facts.filter(Boolean).join(' '), ...more.filter(Boolean)].join(', ')}`
  }
  const { input, output, cacheRead } = run.usage
  return [
    `${run.agent} ${run.model}: ${run.state} after ${at(run.end)}, ${run.errors} errors, read ${input} wrote ${output} cached ${cacheRead}`,
    ...run.steps.flatMap((step) => [
      `  step ${step.index}`,
      ...step.responses.map(response),
      ...step.calls.flatMap((one) => [call(one), ...one.inner.flatMap(outline).map((line) => `      ${line}`)]),
    ]),
  ]
}
