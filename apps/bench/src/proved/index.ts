/**
 * Tries the rows of docs/proved.md, and writes the page: `npm run docs:proved`. With names of rows it tries only these, prints what it
 * observed, and writes nothing. It fails if a library or ours does something else than the row says.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pageOf } from './page.ts'
import { changeOf, type Trial, type Tried } from './row.ts'
import { ROWS } from './rows.ts'

const PAGE = fileURLToPath(new URL('../../../../docs/proved.md', import.meta.url))
const PROGRAM = fileURLToPath(new URL('try-row-process.ts', import.meta.url))

/** The longest that one row may take, in milliseconds. */
const TIME = 300_000

const names = process.argv.slice(2)
const unknown = names.filter((name) => ROWS[name] === undefined)
if (unknown.length > 0) {
  console.error(`${unknown.join(', ')}: no such row; the rows are ${Object.keys(ROWS).join(', ')}`)
  process.exit(2)
}

const tried: Record<string, Tried> = {}
for (const [name, { title, trial }] of Object.entries(ROWS)) {
  if (names.length > 0 && !names.includes(name)) continue
  console.log(`${name}: ${title}`)
  if ('notRun' in trial) console.log(`  not run: ${trial.notRun}`)
  else tried[name] = shown(trial, await observed(name))
}
if (names.length === 0 && process.exitCode === undefined) {
  writeFileSync(PAGE, pageOf({ rows: ROWS, tried, on: new Date().toISOString().slice(0, 10) }))
  console.log('Written: docs/proved.md')
}

function shown(trial: Trial, tried: Tried): Tried {
  console.log(`  ${tried.versions.join(', ')}\n  theirs: ${tried.outcome.theirs}\n  ours:   ${tried.outcome.ours}`)
  const change = changeOf(trial, tried)
  if (change !== undefined) {
    console.error(`  FAILED: ${change}`)
    process.exitCode = 1
  }
  return tried
}

/** In its own process, so that no library disturbs another. */
async function observed(name: string): Promise<Tried> {
  const child = spawn(process.execPath, ['--conditions=@meanwhile/source', '--no-warnings', PROGRAM, name], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: TIME,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DO_NOT_TRACK: '1', OPENAI_AGENTS_DISABLE_TRACING: '1' },
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-1_000)))
  const ended = once(child, 'close').then(() => {
    throw new Error(`the process of ${name} has ended without an outcome: ${said}`)
  })
  const [message] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => undefined)
  return message as Tried
}
