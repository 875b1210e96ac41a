package io.kvasir.prompt.template;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a template does with the contents of messages, as engines look for it to find out whether it reads texts or
 * lists of parts. The detection of loops follows assignments, filters, tests and slices, and arguments of macros; it
 * ignores scopes.
 *
 * <p>Source: vLLM {@code renderers/hf.py} (formerly {@code entrypoints/chat_utils.py}); SGLang {@code
 * srt/parser/jinja_template_utils.py}.
 *
 * @param inVariables the loops that are found when messages are looked for in variables
 * @param inMembers those that are found when they are looked for in members of namespaces, too
 * @param ofMedia whether there are words of media, or a loop over the content of {@code message}, {@code msg} or {@code
 *     m}
 */
public record ContentUse(ContentLoops inVariables, ContentLoops inMembers, boolean ofMedia) {
  private static final List<String> MEDIA = List.of("image", "audio", "video", "vision");
  private static final Set<String> MESSAGE_NAMES = Set.of("message", "msg", "m");

  static ContentUse of(String source, Statements statements) {
    ContentLoops inVariables = in(statements, MessageLists.inVariables(statements.sets()));
    // The two differ only where a namespace has something of the messages, which is rare.
    Set<String> members = MessageLists.inMembers(statements.sets());
    boolean ofMedia = MEDIA.stream().anyMatch(source::contains)
        || statements.loops().stream().anyMatch(loop -> ContentLoops.isContent(loop.elements(), MESSAGE_NAMES));
    return new ContentUse(inVariables, in(statements, members), ofMedia);
  }

  private static ContentLoops in(Statements statements, @Nullable Set<String> lists) {
    return lists == null ? ContentLoops.NONE : ContentLoops.of(statements, lists);
  }
}
