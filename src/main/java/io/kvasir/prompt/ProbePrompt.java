package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.PromptShape.Part;

/**
 * The prompts of our own for comparisons with an engine: scripts, white space, digits, code and contractions, where
 * tokens differ, in any {@link PromptShape}. Only template arguments that clients make up are not in them.
 */
final class ProbePrompt {
  private static final String TEXT = """
      It's 7:45 on 2026-11-21, isn't it?  WE'LL see…

      \tdef f(x):\r
      \t\treturn x**2  # 1234567
      naïve café Å, Grüße, Привет, 你好世界, こんにちは, 안녕하세요, \
      नमस्ते, مرحبا, 👩‍💻🚀 ½ ①
         \s""";

  private ProbePrompt() {}

  static PromptSource.Untokenized of(PromptShape shape) {
    if (shape.equals(PromptShape.TEXT)) {
      return new PromptSource.Text(TEXT, true);
    }
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    ArrayNode messages = body.putArray("messages");
    add(messages, "user", TEXT);
    add(messages, "assistant", "As you say.");
    add(messages, "user", "And then?");
    if (shape.has(Part.TOOLS)) {
      ObjectNode function = body.putArray("tools").addObject().put("type", "function").putObject("function");
      function.put("name", "look_up").put("description", "Looks up a word's \"meaning\".");
      ObjectNode parameters = function.putObject("parameters").put("type", "object");
      parameters.putObject("properties").putObject("word").put("type", "string");
      parameters.putArray("required").add("word");
    }
    if (shape.has(Part.DOCUMENTS)) {
      body.putArray("documents").addObject().put("title", "Weather").put("text", "It's 7 °C in Grünau.");
    }
    if (shape.has(Part.THINKING)) {
      body.put("reasoning_effort", "none");
    }
    if (shape.has(Part.CONTINUATION)) {
      add(messages, "assistant", "Then we");
      body.put("continue_final_message", true).put("add_generation_prompt", false);
    }
    return new PromptSource.Chat(body, false);
  }

  private static void add(ArrayNode messages, String role, String content) {
    messages.addObject().put("role", role).put("content", content);
  }
}
