package io.kvasir.execution;

import io.kvasir.execution.dialect.Message;
import java.util.List;

/**
 * A preparation about to begin.
 *
 * @param course the request as the steps after it are to see it
 * @param messages what its worker is sent; empty when this request needs nothing of it
 */
record Preparing(Course course, List<Message> messages) {}
