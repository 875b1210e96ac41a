package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.RenderBudget;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The rendering of chat requests to prompt texts, as TensorRT-LLM does it. Of a request the template is given messages,
 * tools, documents, whether an answer begins, and {@code chat_template_kwargs}; no effort of reasoning. Functions have
 * all their fields, in the order of the server's own types.
 *
 * <p>Source: TensorRT-LLM {@code serve/openai_server.py} and {@code openai_protocol.py}, {@code inputs/utils.py}.
 */
final class TensorRtChat {
  private final ChatTemplates templates;
  private final Map<String, @Nullable Object> defaults;
  private final TensorRtVersion version;

  TensorRtChat(ChatTemplates templates, Map<String, @Nullable Object> defaults, TensorRtVersion version) {
    this.templates = templates;
    this.defaults = defaults;
    this.version = version;
  }

  RenderedText render(JsonNode body, ChatTemplate template, RenderBudget budget, Supplier<LocalDateTime> now) {
    Map<String, @Nullable Object> variables = new LinkedHashMap<>(templates.specialTokens());
    variables.putAll(defaults);
    variables.putAll(JsonValues.map(body.path("chat_template_kwargs")));
    variables.put("documents", JsonValues.of(body.get("documents")));
    variables.put("tools", tools(body.path("tools")));
    variables.put("add_generation_prompt", body.path("add_generation_prompt").asBoolean(true));
    variables.put("messages", TensorRtMessages.prepare(body.path("messages"), template, version));
    RenderedText text = new RenderedText();
    template.render(variables, now, budget, text);
    return text;
  }

  private @Nullable List<@Nullable Object> tools(JsonNode given) {
    if (!given.isArray()) {
      return null;
    }
    List<@Nullable Object> tools = new ArrayList<>(given.size());
    for (JsonNode tool : given) {
      JsonNode called = tool.path("function");
      if (!called.path("name").isTextual()) {
        throw new TemplateException.Request("tools[" + tools.size() + "].function must be an object with a name");
      }
      Map<String, @Nullable Object> function = new LinkedHashMap<>();
      for (String field : List.of("name", "description", "parameters")) {
        function.put(field, JsonValues.of(called.get(field)));
      }
      if (TensorRtRule.TOOL_STRICT.holds(version)) {
        function.put("strict", JsonValues.of(called.get("strict")));
      }
      Map<String, @Nullable Object> prepared = new LinkedHashMap<>();
      prepared.put("type", "function");
      prepared.put("function", function);
      tools.add(prepared);
    }
    return tools;
  }
}
