package io.kvasir.prompt.template;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The chat template that a request asks for: {@code chat_template} of its body, else of its {@code
 * chat_template_kwargs}, which is the name of one of the model's templates or the source of another. Sources are
 * refused unless allowed, as engines do without {@code --trust-request-chat-template}.
 */
public final class RequestTemplate {
  private static final String FIELD = "chat_template";

  private RequestTemplate() {}

  /** The name or source, null where the request asks for no template. */
  public static @Nullable String of(JsonNode body) {
    JsonNode own = body.path(FIELD);
    JsonNode asked = own.isTextual() ? own : body.path("chat_template_kwargs").path(FIELD);
    return asked.isTextual() ? asked.textValue() : null;
  }

  /**
   * Refuses a request with the source of a template.
   *
   * @param body the request
   * @param model the model's name, for the message
   * @param templates the model's own templates, null for none
   * @throws TemplateException.RefusedTemplate if the request has a source; says what to do instead
   */
  public static void requireNamed(JsonNode body, String model, @Nullable ChatTemplates templates) {
    String asked = of(body);
    if (asked == null || (templates != null && templates.named().containsKey(asked))) {
      return;
    }
    Set<String> names = new TreeSet<>(templates == null ? Set.of() : templates.named().keySet());
    throw new TemplateException.RefusedTemplate(
        "Requests for model '%s' may not have a chat template of their own. Leave %s out%s; or have the operator allow"
            .formatted(model, FIELD, names.isEmpty() ? "" : ", or name one of the model's templates: " + names)
            + " it with request-templates = true in the model's entry here, and with --trust-request-chat-template at"
            + " the engine.");
  }
}
