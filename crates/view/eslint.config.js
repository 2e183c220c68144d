import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  { files: ["tests/script/*.js"], languageOptions: { globals: globals.node } },
  {
    files: ["src/html/script/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-implicit-globals": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
    },
  },
];
