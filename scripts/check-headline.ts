// Checks that a newcomer reads the same sentence wherever they begin: the README, the home page and its title, the site's description, and the
// descriptions of the repository and of the two packages with which users begin.
import { readFileSync } from 'node:fs'

const HEADLINE = 'Agent tools that start while the model is still writing'

const PLACES: readonly (readonly [file: string, text: string])[] = [
  ['README.md', `# Meanwhile\n\n**${HEADLINE}.**`],
  ['docs/index.md', `\ntitleTemplate: ${HEADLINE}\n`],
  ['docs/index.md', `\n  headline: ${HEADLINE}\n`],
  ['docs/.vitepress/config.ts', `\n  description: '${HEADLINE}',\n`],
  ['package.json', `\n  "description": "${HEADLINE}",\n`],
  ['packages/core/package.json', `\n  "description": "${HEADLINE}: `],
  ['packages/eager-tools/package.json', `\n  "description": "${HEADLINE}: `],
]

for (const [file, text] of PLACES) {
  if (readFileSync(file, 'utf8').includes(text)) continue
  console.error(`${file} does not say: ${text.trim()}`)
  process.exitCode = 1
}
