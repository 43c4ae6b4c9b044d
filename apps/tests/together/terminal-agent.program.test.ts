// Ctrl-C stops the terminal agent of the examples at once, and the next start continues.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programAt } from '@meanwhile/tests/programs'
import { afterEach, beforeEach, expect, test } from 'vitest'

const PROGRAM = programAt(new URL('../../../examples/terminal-agent.ts', import.meta.url))

let folder: string
const started: ChildProcess[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-'))
})

afterEach(async () => {
  for (const program of started.splice(0)) program.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

function terminal() {
  const { OPENAI_API_KEY: _, ANTHROPIC_API_KEY: __, ...env } = process.env
  const program = spawn(process.execPath, [PROGRAM, join(folder, 'chat.db')], { env })
  started.push(program)
  let printed = ''
  program.stdout.on('data', (data) => {
    printed += data
  })
  program.stderr.on('data', (data) => {
    printed += data
  })
  return {
    type: (line: string) => program.stdin.write(`${line}\n`),
    async printed(text: string) {
      await expect.poll(() => printed, { timeout: 60_000, interval: 10 }).toContain(text)
    },
    async pressCtrlC() {
      const ended = once(program, 'exit')
      program.kill('SIGINT')
      return (await ended)[0]
    },
  }
}

test('Ctrl-C in the middle of an answer and at a question ends the terminal agent, and the next start continues from there', async () => {
  const first = terminal()
  first.type('Tell me a story.')
  await first.printed('never right')
  expect(await first.pressCtrlC()).toBe(0)

  const second = terminal()
  await second.printed('never right')
  await second.printed('as it likes.\n> ')
  second.type('Write to ada@example.org.')
  await second.printed('(y/n)')
  expect(await second.pressCtrlC()).toBe(0)

  const third = terminal()
  await third.printed('(y/n)')
  third.type('y')
  await third.printed('All right. The mail to ada@example.org is sent.\n> ')
  expect(await third.pressCtrlC()).toBe(0)
})
