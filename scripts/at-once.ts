// Runs npm scripts at the same time, because each by itself leaves processors idle: node scripts/at-once.ts SCRIPT… The output of each is
// printed when it has ended. Fails if one of them fails. npm itself is not started again: it would take half a second for each script.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest

async function succeeds(script: string): Promise<boolean> {
  const command = scripts[script]
  if (command === undefined) throw new Error(`package.json has no script ${script}`)
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  process.stdout.write(`\n> ${script}\n${out}`)
  process.stderr.write(errors)
  return code === 0
}

const ends = await Promise.all(process.argv.slice(2).map(succeeds))
if (ends.includes(false)) process.exitCode = 1
