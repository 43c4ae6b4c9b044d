/**
 * Draws the pictures of README and home page again, from the runs in docs/pictures/figures.json: `npm run bench -- --pictures docs/pictures`
 * measures new ones. With --check it writes nothing, and fails if a picture or a text differs from the figures.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import type { Figures } from './figures.ts'
import { FIGURES_FILE, pictureFiles } from './files.ts'
import { wrongFigures } from './wrong-figures.ts'

const FOLDER = 'docs/pictures'

/** The texts whose times and shares all come from the figures. */
const TEXTS = ['README.md', 'docs/index.md']

const figures: Figures = JSON.parse(readFileSync(`${FOLDER}/${FIGURES_FILE}`, 'utf8'))
const files = pictureFiles(figures)

if (!process.argv.includes('--check')) for (const { name, text } of files) writeFileSync(`${FOLDER}/${name}`, text)
else {
  const old = files.filter(({ name, text }) => readFileSync(`${FOLDER}/${name}`, 'utf8') !== text)
  const problems = [
    ...old.map(({ name }) => `${FOLDER}/${name} is out of date: npm run docs:pictures`),
    ...TEXTS.flatMap((file) => wrongFigures(readFileSync(file, 'utf8'), figures).map((wrong) => `${file}: ${wrong}`)),
  ]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
