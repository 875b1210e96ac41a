package io.kvasir.prompt.template;

import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * A chat template, parsed once and rendered for each request. Immutable and thread-safe.
 *
 * <p>The language is Jinja2 as Hugging Face's {@code transformers} compiles chat templates: {@code trim_blocks} and
 * {@code lstrip_blocks} on, no autoescape, loop controls, {@code generation} blocks, {@code tojson} as Python's
 * {@code json.dumps}, {@code raise_exception} and {@code strftime_now}, and a sandbox in which no value can be
 * changed. See <a href="https://jinja.palletsprojects.com/en/stable/templates/">the language</a> and
 * <a href="https://huggingface.co/docs/transformers/chat_templating">chat templates</a>.
 */
public final class ChatTemplate {
  /** Those that chat templates are given besides Jinja's own. */
  private static final List<String> FUNCTIONS = List.of("raise_exception", "strftime_now");

  private final String source;
  private final Stmt.Block root;
  private final ContentUse contentUse;
  private final boolean knowsDevelopers;
  private final boolean plain;

  private ChatTemplate(String source, Stmt.Block root) {
    this.source = source;
    this.root = root;
    Statements statements = Statements.of(root);
    this.contentUse = ContentUse.of(source, statements);
    this.knowsDevelopers = source.contains("\"developer\"") || source.contains("'developer'");
    this.plain = !statements.marked();
  }

  /** Whether it prints conversations in the Harmony format, for which some engines need no template. */
  public boolean isHarmony() {
    return source.contains("<|start|>") && source.contains("<|channel|>") && source.contains("<|message|>");
  }

  /**
   * Parses a template within {@link RenderLimits#MODEL}.
   *
   * @throws TemplateException.Syntax if the source has an error, with the line, or is beyond the limits
   */
  public static ChatTemplate parse(String source) {
    try {
      return parse(source, new RenderBudget(RenderLimits.MODEL, NanoClock.SYSTEM));
    } catch (TemplateException.Limit e) {
      throw new TemplateException.Syntax(e.reason(), 0);
    }
  }

  /**
   * Parses a template of a request.
   *
   * @throws TemplateException.Syntax if the source has an error, with the line
   * @throws TemplateException.Limit if it takes more than is left of the budget
   */
  public static ChatTemplate parse(String source, RenderBudget budget) {
    try {
      return new ChatTemplate(source, Parser.parse(source, budget));
    } catch (StackOverflowError e) {
      throw tooDeep();
    }
  }

  /** The depths are limited; this is for a thread whose stack is nearly used up already. */
  private static TemplateException tooDeep() {
    return new TemplateException.Limit("the chat template nests too deep for the stack");
  }

  /** The template's source. */
  public String source() {
    return source;
  }

  /** What it does with the contents of messages. */
  public ContentUse contentUse() {
    return contentUse;
  }

  /** Whether it names the role {@code developer}, in quotes. */
  public boolean knowsDevelopers() {
    return knowsDevelopers;
  }

  /**
   * Renders the template and appends the text to {@code out}. On an exception part of the text may have been appended.
   *
   * @param variables the template's variables: strings, numbers, booleans, lists, maps and nulls, as Jackson makes
   *     them; not changed, and not to be changed meanwhile
   * @param now the local time that {@code strftime_now} prints; called only by templates that print it
   * @throws TemplateException if the template raises an exception, fails or exceeds the limits
   */
  public void render(Map<String, ?> variables, Supplier<LocalDateTime> now, RenderBudget budget, RenderedText out) {
    RenderContext render = new RenderContext(variables, now, budget, out);
    try {
      root.runIn(new Frame(render));
    } catch (StackOverflowError e) {
      throw tooDeep();
    }
  }

  /**
   * Renders within {@link RenderLimits#MODEL} as by plain Jinja, which has no functions of chat templates, and refuses
   * those with {@code generation} blocks.
   */
  public String renderPlainly(Map<String, ?> variables, Supplier<LocalDateTime> now) {
    if (!plain) {
      throw new TemplateException.Syntax("plain Jinja has no generation blocks", 0);
    }
    Map<String, Object> plain = new HashMap<>(variables);
    FUNCTIONS.forEach(function -> plain.put(function, Undefined.variable(function)));
    return render(plain, now);
  }

  /** Renders within {@link RenderLimits#MODEL}. */
  public String render(Map<String, ?> variables, Supplier<LocalDateTime> now) {
    RenderedText out = new RenderedText();
    render(variables, now, new RenderBudget(RenderLimits.MODEL, NanoClock.SYSTEM), out);
    return out.toString();
  }
}
