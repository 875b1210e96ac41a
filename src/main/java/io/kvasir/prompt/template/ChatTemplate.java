package io.kvasir.prompt.template;

import java.time.LocalDateTime;
import java.util.Map;
import java.util.function.Supplier;

/**
 * One chat template, parsed once. Immutable and thread-safe.
 *
 * <p>The language is Jinja2 as Hugging Face's {@code transformers} compiles chat templates: {@code trim_blocks} and
 * {@code lstrip_blocks} on, no autoescape, loop controls, {@code generation} blocks, {@code tojson} as Python's
 * {@code json.dumps}, {@code raise_exception} and {@code strftime_now}, and a sandbox in which no value can be
 * changed. See <a href="https://jinja.palletsprojects.com/en/stable/templates/">the language</a> and
 * <a href="https://huggingface.co/docs/transformers/chat_templating">chat templates</a>.
 */
public final class ChatTemplate {
  private final String source;
  private final Stmt.Block root;
  private final ContentFormat contentFormat;

  private ChatTemplate(String source, Stmt.Block root) {
    this.source = source;
    this.root = root;
    this.contentFormat = ContentFormat.of(root);
  }

  /**
   * Reads a template.
   *
   * @throws TemplateException.Syntax if it is not one; with the line
   */
  public static ChatTemplate parse(String source) {
    return new ChatTemplate(source, Parser.parse(source));
  }

  /** The template as it was given. */
  public String source() {
    return source;
  }

  /** How this template wants the content of a message. */
  public ContentFormat contentFormat() {
    return contentFormat;
  }

  /**
   * Renders into {@code out}; what was there stays in front. On an exception part of the text may be there.
   *
   * @param variables what the template reads: strings, numbers, booleans, lists, maps and nulls, as Jackson makes
   *     them; not changed, and not to be changed meanwhile
   * @param now the local time that {@code strftime_now} prints; asked only by templates that call it
   * @throws TemplateException if the template refuses, fails or exceeds the limits
   */
  public void render(Map<String, ?> variables, Supplier<LocalDateTime> now, RenderLimits limits, StringBuilder out) {
    RenderContext render = new RenderContext(variables, now, limits, out);
    try {
      root.run(new Frame(render));
    } catch (StackOverflowError e) {
      // A value nested by the template itself, thousands deep: nothing else recurses without a bound.
      throw new TemplateException.Limit("the chat template nests values or calls too deep");
    }
  }

  /** Renders with {@link RenderLimits#DEFAULT}. */
  public String render(Map<String, ?> variables, Supplier<LocalDateTime> now) {
    StringBuilder out = new StringBuilder();
    render(variables, now, RenderLimits.DEFAULT, out);
    return out.toString();
  }
}
