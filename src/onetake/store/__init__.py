"""What is durable, and the only place that speaks SQL. One drawer per kind of row; the engine composes them."""
