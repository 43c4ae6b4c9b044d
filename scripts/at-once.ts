// Runs npm scripts at the same time, because each by itself leaves processors idle: node scripts/at-once.ts SCRIPT… [-- COMMAND]. The output of
// each is printed when it has ended; with a command, whose output is printed as it comes, when that has ended, too. Fails if one of them fails.
// npm itself is not started again: it would take half a second for each script.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const given = process.argv.slice(2)
const names = given.includes('--') ? given.slice(0, given.indexOf('--')) : given
const command = given.slice(names.length + 1)

async function commandSucceeds(): Promise<boolean> {
  const [name, ...options] = command
  if (name === undefined) return true
  const [code] = await once(spawn(name, options, { stdio: 'inherit' }), 'close')
  return code === 0
}

async function succeeds(script: string): Promise<boolean> {
  const line = scripts[script]
  if (line === undefined) throw new Error(`package.json has no script ${script}`)
  const child = spawn(line, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  await last
  process.stdout.write(`\n> ${script}\n${out}`)
  process.stderr.write(errors)
  return code === 0
}

const last = commandSucceeds()
const ends = await Promise.all([...names.map(succeeds), last])
if (ends.includes(false)) process.exitCode = 1
