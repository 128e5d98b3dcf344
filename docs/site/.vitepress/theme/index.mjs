// SPDX-License-Identifier: BSL-1.0
import DefaultTheme from 'vitepress/theme'
import DemoRecording from './DemoRecording.vue'
import FrontPage from './FrontPage.vue'
import LivePicture from './LivePicture.vue'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('DemoRecording', DemoRecording)
    app.component('FrontPage', FrontPage)
    app.component('LivePicture', LivePicture)
  },
}
