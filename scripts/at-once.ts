// Runs npm scripts at the same time, because each by itself leaves processors idle: tsx scripts/at-once.ts SCRIPT… The output of each is
// printed when it has ended. Fails if one of them fails.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

async function succeeds(script: string): Promise<boolean> {
  const child = spawn('npm', ['run', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  process.stdout.write(out)
  process.stderr.write(errors)
  return code === 0
}

const ends = await Promise.all(process.argv.slice(2).map(succeeds))
if (ends.includes(false)) process.exitCode = 1
