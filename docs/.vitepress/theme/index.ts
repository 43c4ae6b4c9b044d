/** The default theme in the colours of the family, with room for lines of 120 characters, and the picture for the home page. */

import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import '@meanwhile/devtools/family.css'
import { Hero } from './hero.ts'
import './colours.css'
import './wide.css'
import './home.css'

const theme: Theme = { extends: DefaultTheme, enhanceApp: ({ app }) => void app.component('Hero', Hero) }

export default theme
