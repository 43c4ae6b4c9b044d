// Writes the tables of docs/architecture.md about the decisions of the machine. Its functions compute each cell. With --check it
// writes nothing and fails if a table is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { type CallState, type ExecutionState, hasKeys, hasSlot } from '../src/machine/call.ts'
import * as facts from '../src/machine/decide-call.ts'
import { decideHalt, type Halt, hasFailed, mayStart, runsOn } from '../src/machine/halt.ts'
import { NEW } from './new-call.ts'

const PAGE = new URL('../../../docs/architecture.md', import.meta.url)

const tables: Readonly<Record<string, string>> = {
  calls: callTable(),
  ends: endTable(),
  executions: executionTable(),
  stops: stopTable(),
}

const before = readFileSync(PAGE, 'utf8')
let page = before
for (const [name, rows] of Object.entries(tables)) {
  const part = new RegExp(`(<!-- table: ${name} -->\n)[\\s\\S]*?(<!-- end of table -->)`)
  if (!part.test(page)) throw new Error(`docs/architecture.md has no place for the table ${name}`)
  page = page.replace(part, (_, begin: string, end: string) => `${begin}\n${rows}\n\n${end}`)
}
if (!process.argv.includes('--check')) writeFileSync(PAGE, page)
else if (page !== before) {
  console.error('docs/architecture.md is out of date: npm run docs:machine')
  process.exitCode = 1
}

/** The next state of a call, for each state and each fact. */
function callTable(): string {
  const happens: Readonly<Record<string, (call: CallState) => CallState>> = {
    'it is requested': facts.begun,
    'it settles with a result': (call) => facts.settled(call, 'result'),
    'its model call succeeds': (call) => facts.committed(call, 0),
    'no response requests it any longer': (call) => facts.discarded(call, 'call_withdrawn'),
    'it is stopped': (call) => facts.aborted(call, 'stopped'),
  }
  const states = (['provisional', 'committed'] as const).flatMap((fate) =>
    (['asleep', 'begun', 'result'] as const).map((course) => ({ ...NEW, fate, course })),
  )
  const rows = states.map((call) => [
    `*${call.fate}, ${call.course}*`,
    ...Object.values(happens).map((fact) => changeOf(call, fact(call))),
  ])
  return table(['the call is', ...Object.keys(happens)], rows)
}

function changeOf(before: CallState, after: CallState): string {
  if (after.course !== before.course) return `*${after.course}*`
  if (after.fate !== before.fate) return `*${after.fate}*`
  return after.aborted === before.aborted ? '–' : '*stopped*'
}

/** How a call settles. */
function endTable(): string {
  const comes = ['result', 'cut off', 'stop', 'throw'] as const
  const calls: Readonly<Record<string, CallState>> = {
    'parked, and cancelled': { ...NEW, isParked: true, aborted: 'cancelled' },
    parked: { ...NEW, isParked: true },
    discarded: { ...NEW, fate: 'discarded' },
    cancelled: { ...NEW, fate: 'committed', aborted: 'cancelled' },
    stopped: { ...NEW, fate: 'committed', aborted: 'stopped' },
    'none of these': { ...NEW, fate: 'committed' },
  }
  const rows = Object.entries(calls).map(([what, call]) => [
    what,
    ...comes.map((came) => `*${facts.endOf(call, came)}*`),
  ])
  return table(
    ['the call is', 'a result', 'a message that it was cut off', 'a stop of the run', 'any other throw'],
    rows,
  )
}

/** The stages of an execution, and the slots and keys that it has. */
function executionTable(): string {
  const stages: Readonly<Record<ExecutionState['stage'], string>> = {
    wanted: 'a wrap has called `next`',
    checking: 'its input is being checked',
    judged: 'its effect and its keys are known; it waits for its turn',
    storing: 'its start is being stored',
    entered: 'its function has been called',
    threw: 'it threw an error that ends the run, and its call has not settled',
    ended: 'it has an outcome',
    left: 'it has ended, and its function was never called',
    'cut off': 'it has ended without an outcome, and its function was called',
    abandoned: 'its function is still running after its grace time, and nothing waits for it',
  }
  const judgement = { effect: 'read', keys: { reads: [], writes: [] }, mayBeEarly: true } as const
  const rows = Object.entries(stages).map(([stage, what]) => {
    const one = { invocation: { n: 0 }, judgement, stage: stage as ExecutionState['stage'] }
    return [`*${stage}*`, what, hasSlot(one) ? 'yes' : '', hasKeys(one) ? 'yes' : '']
  })
  return table(['stage', 'what it means', 'has a slot of the run', 'has its keys and a slot of its tool'], rows)
}

/** What continues after a stop of the run. */
function stopTable(): string {
  const going: Halt = { phase: 'running' }
  const halts: Readonly<Record<string, Halt>> = {
    nothing: going,
    'a question (pause)': decideHalt(going, { is: 'pause' }),
    'a cancel `after-tools`': decideHalt(going, { is: 'cancel', at: 'after-tools' }),
    'a cancel `after-model`': decideHalt(going, { is: 'cancel', at: 'after-model' }),
    'a cancel `now`': decideHalt(going, { is: 'cancel', at: 'now' }),
    'an abort': decideHalt(going, { is: 'abort' }),
    'a failure': decideHalt(going, { is: 'failure' }),
  }
  const rows = Object.entries(halts).map(([what, halt]) => [
    what,
    mayStart(halt) ? 'yes' : 'no',
    runsOn(halt) ? 'yes' : 'no',
    hasFailed(halt) ? 'no' : 'yes',
  ])
  return table(['what stops the run', 'calls start', 'running calls continue', 'a resume can continue the run'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
