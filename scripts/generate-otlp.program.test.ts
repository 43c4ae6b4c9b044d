import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { GENERATED, generateOtlp } from './generate-otlp.ts'

test("the code of OTLP's messages is what the generator makes of their .proto files (DT2)", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-otlp-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  generateOtlp(folder)
  const contents = (cwd: string) =>
    Object.fromEntries(
      globSync('**/*.{js,ts}', { cwd })
        .sort()
        .map((file) => [file, readFileSync(join(cwd, file), 'utf8')]),
    )
  const made = contents(folder)
  expect(Object.keys(made)).toHaveLength(12)
  expect(contents(GENERATED)).toEqual(made)
})
