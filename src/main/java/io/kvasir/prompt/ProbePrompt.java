package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The prompt for comparisons with an engine: scripts, white space, digits, code and contractions, where tokens differ.
 */
final class ProbePrompt {
  private static final String TEXT = """
      It's 7:45 on 2026-11-21, isn't it?  WE'LL see…

      \tdef f(x):\r
      \t\treturn x**2  # 1234567
      naïve café Å, Grüße, Привет, 你好世界, こんにちは, 안녕하세요, नमस्ते, مرحبا, 👩‍💻🚀 ½ ①
         \s""";

  private ProbePrompt() {}

  static PromptSource source(boolean chat) {
    if (!chat) {
      return new PromptSource.Text(TEXT, true);
    }
    ObjectNode body = JsonNodeFactory.instance.objectNode();
    body.putArray("messages")
        .add(JsonNodeFactory.instance.objectNode().put("role", "user").put("content", TEXT))
        .add(JsonNodeFactory.instance.objectNode().put("role", "assistant").put("content", "As you say."))
        .add(JsonNodeFactory.instance.objectNode().put("role", "user").put("content", "And then?"));
    return new PromptSource.Chat(body, false);
  }
}
