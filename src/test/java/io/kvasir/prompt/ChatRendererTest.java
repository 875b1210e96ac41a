package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What of a prompt can be rendered here, and what an engine can be asked for. */
final class ChatRendererTest {
  private static final EngineVersion OLD = TensorRtVersion.of("1.2.1");
  private static final EngineVersion NEW = TensorRtVersion.of("1.3.0rc26");

  /** Where the template reads parts, they are parts since 1.3; before, placeholders come before the text. */
  @Test
  void textBeforeMedia_isThePromptUpToThere() {
    String template = """
        {% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}\
        {% for p in m.content %}{% if p.type == 'text' %}[{{ p.text }}]{% endif %}{% endfor %}\
        {% endif %}{% endfor %}""";
    ObjectNode body = Bodies.object("""
        {'messages': [{'role': 'user', 'content': 'one '}, {'role': 'user', 'content': [
          {'type': 'text', 'text': 'two'}, {'type': 'image_url', 'image_url': {'url': 'u'}}]}]}""");
    ChatRenderer renderer = renderer(template);
    assertThat(renderer.renderUpToItem(body, 1, NEW)).hasToString("one [two][");
    assertThat(renderer.renderUpToItem(body, 1, OLD)).hasToString("one ");
  }

  /** TensorRT-LLM's {@code /tokenize} renders no conversations. */
  @Test
  void tokenize_isAskedForTextsAlone() {
    ChatRenderer renderer = renderer("{{ messages }}");
    LocalTokenizer local = new LocalTokenizer(null, renderer);
    assertThat(local.isTokenizedAlike(new PromptSource.Chat(Bodies.object("{'messages': []}"), false), NEW)).isFalse();
    assertThat(local.isTokenizedAlike(new PromptSource.Text("x", false), NEW)).isFalse();
    PromptSource.Text text = new PromptSource.Text("x", true);
    assertThat(local.isTokenizedAlike(text, NEW)).isTrue();
    assertThat(text.tokenizeRequest("m", Bodies.object("{}"), NEW)).isEqualTo("{\"prompt\":\"x\"}");
  }

  private static ChatRenderer renderer(String template) {
    return new ChatRenderer(
        ChatTemplates.of(ChatTemplate.parse(template), Map.of()), false, Map.of(),
        () -> LocalDateTime.of(2026, 1, 15, 12, 0), NanoClock.SYSTEM);
  }
}
