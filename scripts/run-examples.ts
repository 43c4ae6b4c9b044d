// Runs every example, one after the other; fails when one of them does.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { dirname } from 'node:path'

const failed = globSync('examples/**/*.ts', { exclude: ['**/node_modules/**'] })
  // Beside an example lies a folder of its name with its parts.
  .filter((file) => !existsSync(`${dirname(file)}.ts`))
  .sort()
  .filter((file) => {
    console.log(`\n── ${file}`)
    const { status, signal } = spawnSync('tsx', ['--conditions=@meanwhile/source', file], {
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: 60_000,
    })
    if (status === 0) return false
    console.error(`${file} failed (${signal ?? `exit code ${status}`})`)
    return true
  })

if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}`)
  process.exitCode = 1
}
