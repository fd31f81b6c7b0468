"""What can be won against a frozen agent: a response is trained against it and measured on other deals."""
