package io.kvasir.events;

import io.kvasir.events.EventDraft.Field;
import io.kvasir.events.EventDraft.Kind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageInsufficientBufferException;
import org.msgpack.core.MessagePackException;
import org.msgpack.value.ValueType;

/**
 * The decoder of the event messages of vLLM and SGLang: a msgpack array {@code [ts, events, rank]}.
 *
 * <p>Two encodings of an event are in the field and may meet in one fleet, so the first byte of each
 * event decides: an array with its name first and fields by position (vLLM up to 0.23, SGLang), or a map
 * with its name under {@code type} (vLLM from 0.24). Shorter events lack the fields of later versions,
 * longer ones have unknown fields; both are read. An event that cannot be read is skipped as a
 * whole, counted, and the next one is tried.
 *
 * <p>Any bytes give a {@link DecodedMessage}, never an exception. One thread at a time: buffers are reused.
 */
public final class EventDecoder {
  private static final NameTable<Field> FIELDS =
      new NameTable<>(
          Map.ofEntries(
              Map.entry("type", Field.TYPE),
              Map.entry("block_hashes", Field.KEYS),
              Map.entry("parent_block_hash", Field.PARENT),
              Map.entry("token_ids", Field.TOKENS),
              Map.entry("block_size", Field.BLOCK_SIZE),
              Map.entry("lora_id", Field.LORA_ID),
              Map.entry("medium", Field.MEDIUM),
              Map.entry("lora_name", Field.LORA_NAME),
              Map.entry("extra_keys", Field.EXTRA_KEYS),
              Map.entry("group_idx", Field.GROUP),
              Map.entry("kv_cache_spec_kind", Field.SPEC),
              Map.entry("kv_cache_spec_sliding_window", Field.WINDOW),
              Map.entry("locality", Field.LOCALITY),
              Map.entry("cache_salt", Field.CACHE_SALT),
              Map.entry("session_id", Field.SESSION),
              Map.entry("lookahead_token_ids", Field.LOOKAHEAD)));

  /** Fields of an array by position; the name stands at 0. */
  private static final List<Field> STORED_POSITIONS =
      List.of(
          Field.KEYS,
          Field.PARENT,
          Field.TOKENS,
          Field.BLOCK_SIZE,
          Field.LORA_ID,
          Field.MEDIUM,
          Field.LORA_NAME,
          Field.EXTRA_KEYS,
          Field.GROUP,
          Field.SPEC,
          Field.WINDOW);

  private static final List<Field> REMOVED_POSITIONS = List.of(Field.KEYS, Field.MEDIUM, Field.GROUP);

  private final WireReader reader = new WireReader();
  private final DecodedMessage.FaultCollector faults = new DecodedMessage.FaultCollector();
  private final EventDraft draft = new EventDraft(reader, faults);

  /** Decodes one message with the number {@code sequence}. Never throws. */
  public DecodedMessage decode(long sequence, byte[] payload) {
    return decode(sequence, payload, 0);
  }

  /** The end of the message that was decoded last; meaningful when it was intact. */
  int end() {
    return reader.position();
  }

  /** Decodes the message that begins at {@code from}. Never throws. */
  DecodedMessage decode(long sequence, byte[] payload, int from) {
    faults.clear();
    List<KvEvent> events = new ArrayList<>(1);
    long publishedAt = 0;
    int rank = KvBatch.UNKNOWN_RANK;
    long publisher = PublisherId.NONE;
    try {
      reader.reset(payload, from);
      int fields = reader.array(Integer.MAX_VALUE);
      if (fields < 2) {
        throw new WireException(DecodeFault.MALFORMED, "a message of " + fields + " fields");
      }
      publishedAt = reader.time();
      int count = reader.array(Integer.MAX_VALUE);
      for (int i = 0; i < count; i++) {
        KvEvent event = eventOrSkip();
        if (event != null) {
          events.add(event);
        }
      }
      if (fields > 2 && reader.type() == ValueType.INTEGER) {
        rank = reader.count(Integer.MAX_VALUE, "rank");
      } else if (fields > 2) {
        reader.skip();
      }
      if (fields > 3 && reader.type() == ValueType.BINARY) {
        publisher = PublisherId.of(reader.bytes());
      } else if (fields > 3) {
        reader.skip();
      }
      for (int i = 4; i < fields; i++) {
        reader.skip();
      }
    } catch (IOException | RuntimeException e) {
      note(e);
    }
    return faults.of(new KvBatch(sequence, publishedAt, rank, List.copyOf(events)), publisher);
  }

  /** One event; null when it was unknown or could not be read, and was skipped. */
  private @Nullable KvEvent eventOrSkip() throws IOException {
    int start = reader.position();
    try {
      return event();
    } catch (MessagePackException | WireException e) {
      // Skipped from its start: reading may have stopped anywhere.
      reader.seek(start);
      reader.skip();
      note(e);
      return null;
    }
  }

  private @Nullable KvEvent event() throws IOException {
    draft.clear();
    switch (reader.type()) {
      case ARRAY -> readArray();
      case MAP -> readMap();
      default -> throw new WireException(DecodeFault.MALFORMED, "an event is neither array nor map");
    }
    return draft.event();
  }

  private void readArray() throws IOException {
    int length = reader.array(Integer.MAX_VALUE);
    if (length == 0) {
      return;
    }
    draft.read(Field.TYPE);
    List<Field> positions =
        switch (draft.kind()) {
          case STORED -> STORED_POSITIONS;
          case REMOVED -> REMOVED_POSITIONS;
          case CLEARED, UNKNOWN, UNSET -> List.of();
        };
    for (int i = 0; i < length - 1; i++) {
      if (i < positions.size()) {
        draft.read(positions.get(i));
      } else {
        unknownField();
      }
    }
  }

  private void readMap() throws IOException {
    int length = reader.map();
    draft.beginMap();
    for (int i = 0; i < length; i++) {
      Field field = null;
      if (reader.type() == ValueType.STRING) {
        field = reader.named(FIELDS);
      } else {
        reader.skip();
      }
      // The fields of an unknown event may mean anything.
      if (field == null || draft.kind() == Kind.UNKNOWN) {
        unknownField();
      } else {
        draft.read(field);
      }
    }
  }

  private void unknownField() throws IOException {
    reader.skip();
    if (draft.kind() != Kind.UNKNOWN) {
      faults.add(DecodeFault.UNKNOWN_FIELD, "unknown field");
    }
  }

  private void note(Exception e) {
    switch (e) {
      case WireException wire -> faults.add(wire.fault(), String.valueOf(wire.getMessage()));
      case MessageInsufficientBufferException _ -> faults.add(DecodeFault.TRUNCATED, "the bytes end early");
      default -> faults.add(DecodeFault.MALFORMED, String.valueOf(e.getMessage()));
    }
  }
}
