// A tool without an agent: it processes the files of a directory in stages and reports its progress.

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool, tool } from '@meanwhile/core'
import { z } from 'zod'

const countWords = tool({
  name: 'count_words',
  description: 'Counts the words in the text files of a directory and writes a report into it.',
  input: z.object({ directory: z.string() }),
  timeout: 10_000,
  async *execute({ directory }, { signal }) {
    yield { progress: 0, message: 'looking for files' }
    const files = (await readdir(directory)).filter((name) => name.endsWith('.txt')).sort()

    const counts: Record<string, number> = {}
    for (const [index, name] of files.entries()) {
      yield { progress: 0.1 + (0.8 * index) / files.length, message: `reading ${name}` }
      const text = await readFile(join(directory, name), { encoding: 'utf8', signal })
      counts[name] = text.match(/\p{L}+/gu)?.length ?? 0
    }

    yield { progress: 0.9, message: 'writing the report' }
    const report = join(directory, 'report.json')
    await writeFile(report, JSON.stringify(counts), { signal })
    yield { progress: 1, message: 'done' }
    return { report, files: files.length, words: Object.values(counts).reduce((sum, words) => sum + words, 0) }
  },
})

const directory = await mkdtemp(join(tmpdir(), 'meanwhile-'))
try {
  for (const [n, name] of ['harbour', 'lighthouse', 'tide'].entries())
    await writeFile(join(directory, `${name}.txt`), `The ${name} at dawn. `.repeat(1_000 * (n + 1)))

  const run = runTool(countWords, { directory })
  for await (const { progress = 0, message } of run.progress) {
    console.log(`${Math.round(progress * 100)} % ${message}`)
  }
  const { files, words } = await run
  const { startedAt = 0, endedAt = 0 } = run.status()
  console.log(`${words} words in ${files} files, in ${(endedAt - startedAt).toFixed(0)} ms`)
} finally {
  await rm(directory, { recursive: true })
}
