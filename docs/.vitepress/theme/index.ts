/** The default theme in the colours of the family, with room for lines of 120 characters, and the picture for the home page. */

import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { markRaw, toRaw } from 'vue'
import '@meanwhile/devtools/family.css'
import { Hero } from './hero.ts'
import './colours.css'
import './wide.css'
import './home.css'

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ app, siteData }) {
    app.component('Hero', Hero)
    // They do not change. Without the mark, the default theme observes every item of every sidebar, on each page.
    markRaw(toRaw(siteData.value.themeConfig.sidebar))
  },
}

export default theme
